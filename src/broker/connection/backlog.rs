//! What a connection has taken and not done yet, as far as its reader has to wait for it.

use std::cell::Cell;
use std::sync::Arc;

use tokio::sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore};

/// Places of all that may be pending; the reader stops when they are taken.
pub(crate) const PLACES_MAX: usize = 4096;

/// Bytes of a request that take a place, so that all places together are a MiB.
const PLACE: usize = 256;

/// The pending work of one connection. Its reader and its writer share it.
#[derive(Debug)]
pub(crate) struct Backlog {
    places: Arc<Semaphore>,
    /// Pending requests that are not produce requests already appended.
    sequential: Cell<usize>,
    /// Whether the peer takes its answers more slowly than they come.
    sending: Cell<bool>,
    /// Told when either may have come to its end.
    cleared: Notify,
}

impl Backlog {
    /// Nothing pending.
    pub(crate) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(PLACES_MAX)),
            sequential: Cell::new(0),
            sending: Cell::new(false),
            cleared: Notify::new(),
        }
    }

    /// The places that a request of so many bytes takes.
    pub(crate) fn places_of(bytes: usize) -> usize {
        bytes.div_ceil(PLACE).max(1)
    }

    /// So many places, all there are at most, if they are free now.
    pub(crate) fn try_take(&self, places: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_many_owned(bounded(places)).ok()
    }

    /// Waits for so many places, all there are at most.
    pub(crate) async fn take(&self, places: usize) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(&self.places).acquire_many_owned(bounded(places)).await
    }

    /// A request is pending that was not executed.
    pub(crate) fn add_request(&self) {
        self.sequential.set(self.sequential.get() + 1);
    }

    /// The oldest of these requests was executed.
    pub(crate) fn request_done(&self) {
        self.sequential.set(self.sequential.get() - 1);
        self.tell();
    }

    /// Whether produce requests may run ahead: nothing else is pending.
    pub(crate) fn lets_run_ahead(&self) -> bool {
        self.sequential.get() == 0
    }

    /// Answers are on their way to the peer, or all are out.
    pub(crate) fn set_sending(&self, sending: bool) {
        self.sending.set(sending);
        self.tell();
    }

    /// Whether nothing is pending that may last for as long as the peer likes.
    pub(crate) fn is_clear(&self) -> bool {
        self.lets_run_ahead() && !self.sending.get()
    }

    /// Waits until that is so.
    pub(crate) async fn clear(&self) {
        while !self.is_clear() {
            self.cleared.notified().await;
        }
    }

    fn tell(&self) {
        if self.is_clear() {
            self.cleared.notify_one();
        }
    }
}

fn bounded(places: usize) -> u32 {
    u32::try_from(places.min(PLACES_MAX)).unwrap_or(u32::MAX)
}
