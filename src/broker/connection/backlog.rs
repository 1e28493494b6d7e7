//! The pending work of a connection, for which its reader may have to wait.

use std::cell::Cell;
use std::sync::Arc;

use tokio::sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore};

/// The permits for pending work; the reader stops when none are left.
pub(crate) const PERMITS_MAX: usize = 4096;

/// The bytes of a request per permit, so that all permits together represent 1 MiB.
const BYTES_PER_PERMIT: usize = 256;

/// The pending work of one connection, shared by its reader and its writer.
#[derive(Debug)]
pub(crate) struct Backlog {
    permits: Arc<Semaphore>,
    /// The number of pending requests, not counting produce requests that were appended on arrival.
    sequential: Cell<usize>,
    /// True while the writer waits for the peer to accept responses.
    sending: Cell<bool>,
    /// Notified when only produce requests are pending and no response is being sent.
    cleared: Notify,
}

impl Backlog {
    /// Creates an empty backlog.
    pub(crate) fn new() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(PERMITS_MAX)),
            sequential: Cell::new(0),
            sending: Cell::new(false),
            cleared: Notify::new(),
        }
    }

    /// The number of permits that a request of this size takes.
    pub(crate) fn permits_for(bytes: usize) -> usize {
        bytes.div_ceil(BYTES_PER_PERMIT).max(1)
    }

    /// Takes permits if they are free now; at most all permits.
    pub(crate) fn try_take(&self, permits: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_many_owned(bounded(permits)).ok()
    }

    /// Waits for permits; at most all permits.
    pub(crate) async fn take(&self, permits: usize) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(&self.permits).acquire_many_owned(bounded(permits)).await
    }

    /// Adds a pending request that has not been executed.
    pub(crate) fn add_request(&self) {
        self.sequential.set(self.sequential.get() + 1);
    }

    /// Removes the oldest pending request, which has been executed.
    pub(crate) fn request_done(&self) {
        self.sequential.set(self.sequential.get() - 1);
        self.notify_if_clear();
    }

    /// True if produce requests may be appended on arrival: no other request is pending.
    pub(crate) fn lets_run_ahead(&self) -> bool {
        self.sequential.get() == 0
    }

    /// Records whether responses are being sent.
    pub(crate) fn set_sending(&self, sending: bool) {
        self.sending.set(sending);
        self.notify_if_clear();
    }

    /// True if only produce requests are pending and no response is being sent.
    pub(crate) fn is_clear(&self) -> bool {
        self.lets_run_ahead() && !self.sending.get()
    }

    /// Waits until [`Self::is_clear`] returns true.
    pub(crate) async fn wait_until_clear(&self) {
        while !self.is_clear() {
            self.cleared.notified().await;
        }
    }

    fn notify_if_clear(&self) {
        if self.is_clear() {
            self.cleared.notify_one();
        }
    }
}

fn bounded(permits: usize) -> u32 {
    u32::try_from(permits.min(PERMITS_MAX)).unwrap_or(u32::MAX)
}
