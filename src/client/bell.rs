//! Where callers wait for a change: threads at a gate, futures beside them.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use crate::io::Gate;

/// Rings for all who wait, in whichever way.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    gate: Gate,
    futures: Arc<Notify>,
}

impl Bell {
    /// Where threads wait.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Lets all who wait look again. Called after the change.
    pub(crate) fn wake_all(&self) {
        self.gate.wake_all();
        self.futures.notify_waiters();
    }

    /// Ready once it has rung, counted from now and not from the first poll.
    pub(crate) fn next(&self) -> OwnedNotified {
        Arc::clone(&self.futures).notified_owned()
    }

    /// Waits until `attempt` gives something.
    pub(crate) async fn until<T>(&self, mut attempt: impl FnMut() -> Option<T>) -> T {
        loop {
            let next = self.futures.notified();
            if let Some(ready) = attempt() {
                return ready;
            }
            next.await;
        }
    }
}
