//! Wakes callers that wait for a change: blocked threads through a gate, and futures.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use crate::io::Gate;

/// A notification for all waiting threads and futures.
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
    gate: Gate,
    futures: Arc<Notify>,
}

impl Wakeup {
    /// The gate at which threads wait.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Wakes every waiter so that it checks again. Call it after the change, never before.
    pub(crate) fn wake_all(&self) {
        self.gate.wake_all();
        self.futures.notify_waiters();
    }

    /// Returns a future that is ready after the next [`wake_all`](Self::wake_all), counted from
    /// this call and not from the first poll.
    pub(crate) fn next(&self) -> OwnedNotified {
        Arc::clone(&self.futures).notified_owned()
    }

    /// Waits until `attempt` returns a value.
    pub(crate) async fn until<T>(&self, mut attempt: impl FnMut() -> Option<T>) -> T {
        loop {
            // Register before the attempt, so that a wakeup between the two is not lost.
            let next = self.futures.notified();
            if let Some(ready) = attempt() {
                return ready;
            }
            next.await;
        }
    }
}
