//! How a caller's thread waits for work done on the client's.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::client::background::Tasks;
use crate::client::{ClientError, OnSignal};
use crate::io::{Clock, Gate, Waited};

/// Waits of callers: by which clock, and what a signal means.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    clock: Arc<dyn Clock>,
    on_signal: Option<OnSignal>,
}

impl Waiter {
    /// Waits by `clock`; without `on_signal`, signals do not end a wait.
    pub(crate) fn new(clock: Arc<dyn Clock>, on_signal: Option<OnSignal>) -> Self {
        Self { clock, on_signal }
    }

    /// Waits at `gate` until `attempt` gives something, or for `timeout` (`None` is for ever).
    ///
    /// # Errors
    /// [`ClientError::Interrupted`], or `System` when there is no descriptor to wait on.
    pub(crate) fn wait<T>(
        &self,
        gate: &Gate,
        timeout: Option<Duration>,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> Result<Option<T>, ClientError> {
        let deadline = timeout.map(|timeout| self.clock.monotonic().saturating_add(timeout));
        loop {
            match gate.wait(self.clock.as_ref(), deadline, &mut attempt)? {
                Waited::Ready(value) => return Ok(Some(value)),
                Waited::TimedOut => return Ok(None),
                Waited::Signal if self.on_signal.as_ref().is_some_and(OnSignal::gives_up) => {
                    return Err(ClientError::Interrupted);
                }
                Waited::Signal => {}
            }
        }
    }

    /// Runs `work` on the client's thread and waits for it; it brings its own deadline.
    ///
    /// # Errors
    /// Those of `work`, [`ClientError::Closed`] when the client stops, and as [`wait`](Self::wait).
    pub(crate) fn run<T, F>(&self, tasks: &Tasks, work: F) -> Result<T, ClientError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ClientError>> + Send + 'static,
    {
        if tasks.is_stopping() {
            return Err(ClientError::Closed);
        }
        let outcome = Arc::new(Outcome { value: Mutex::new(None), gate: Gate::new() });
        let guard = Promise(Arc::clone(&outcome));
        let task = tasks.start(async move {
            let value = work.await;
            guard.0.settle(value);
        });
        let waited = self.wait(&outcome.gate, None, || outcome.take());
        if waited.is_err() {
            task.abort();
        }
        waited?.unwrap_or(Err(ClientError::Closed))
    }
}

/// What a task gives back to a thread.
#[derive(Debug)]
struct Outcome<T> {
    value: Mutex<Option<Result<T, ClientError>>>,
    gate: Gate,
}

impl<T> Outcome<T> {
    fn settle(&self, value: Result<T, ClientError>) {
        self.value.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(value);
        self.gate.wake_all();
    }

    fn take(&self) -> Option<Result<T, ClientError>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Settles the outcome when the task ends, even if it was cut off.
struct Promise<T>(Arc<Outcome<T>>);

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.0.settle(Err(ClientError::Closed));
    }
}
