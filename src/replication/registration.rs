//! Registrations for a wakeup when a partition makes progress.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::replication::{Partition, Progress};
use crate::types::Offset;

/// A registration for a wakeup; dropping it cancels it.
#[derive(Debug)]
pub struct Registration {
    partition: Arc<Partition>,
    ticket: u64,
}

impl Partition {
    /// Registers for a wakeup when the role of this broker changes or records beyond `offset`
    /// become visible. Unflushed records are flushed at once, because a reader now waits for them.
    pub fn wait_beyond(self: &Arc<Self>, offset: Offset, wake: &Arc<Notify>) -> Registration {
        self.wait_for(Progress::Replicated, offset, wake)
    }

    /// As [`Partition::wait_beyond`], but for this kind of progress beyond `offset`.
    pub fn wait_for(
        self: &Arc<Self>,
        awaited: Progress,
        offset: Offset,
        wake: &Arc<Notify>,
    ) -> Registration {
        let ticket = self.waiting().register(awaited, offset, wake);
        let registration = Registration { partition: Arc::clone(self), ticket };
        if matches!(awaited, Progress::Stored | Progress::Replicated)
            && let Some(log) = self.log()
            && log.flushed_offset() < log.log_end_offset()
        {
            self.logs().flusher.schedule(&log, true);
        }
        registration
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.partition.waiting().cancel(self.ticket);
    }
}
