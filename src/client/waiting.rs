//! Blocking waits of a caller's thread for work done on the client's thread.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::client::ClientError;
use crate::client::signals::{Signals, Watch};
use crate::io::{Clock, Gate, Waited};
use crate::link::Tasks;

/// The clock of blocking waits, and the host that handles signals during them.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    clock: Arc<dyn Clock>,
    signals: Option<&'static dyn Signals>,
}

impl Waiter {
    /// A waiter using `clock`. Without a signal host, signals do not end a wait.
    pub(crate) fn new(clock: Arc<dyn Clock>, signals: Option<&'static dyn Signals>) -> Self {
        Self { clock, signals }
    }

    /// Waits at `gate` until `attempt` returns a value, or for `timeout` (`None`: without limit).
    ///
    /// # Errors
    /// [`ClientError::Interrupted`], or `System` when no file descriptor is available.
    pub(crate) fn wait<T>(
        &self,
        gate: &Gate,
        timeout: Option<Duration>,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> Result<Option<T>, ClientError> {
        if let Some(ready) = attempt() {
            return Ok(Some(ready));
        }
        let deadline = timeout.map(|timeout| self.clock.monotonic().saturating_add(timeout));
        let mut watch = self.signals.map(Watch::begin).transpose()?.flatten();
        // A signal that arrived before the watch began left no byte in its pipe, so check once.
        let mut signalled = watch.is_some();
        loop {
            if signalled && self.signals.is_some_and(Signals::gives_up) {
                return Err(ClientError::Interrupted);
            }
            let signals = watch.as_ref().map(Watch::readable);
            match gate.wait(self.clock.as_ref(), deadline, signals, &mut attempt)? {
                Waited::Ready(value) => return Ok(Some(value)),
                Waited::TimedOut => return Ok(None),
                Waited::Signal => signalled = true,
            }
            if let Some(watch) = &mut watch {
                watch.take();
            }
        }
    }

    /// Runs `work` on the client's thread and waits for it. `work` enforces its own deadline.
    ///
    /// # Errors
    /// The errors of `work`, [`ClientError::Closed`] when the client stops, and those of
    /// [`wait`](Self::wait).
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

/// The result slot between a task and a waiting thread.
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

/// Settles the outcome when the task ends, even if it was aborted.
struct Promise<T>(Arc<Outcome<T>>);

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.0.settle(Err(ClientError::Closed));
    }
}
