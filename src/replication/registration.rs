//! Registrations for a wakeup when a partition makes progress.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::replication::Partition;
use crate::types::Offset;

/// A registration for a wakeup; dropping it cancels it.
#[derive(Debug)]
pub struct Registration {
    partition: Arc<Partition>,
    ticket: u64,
}

impl Partition {
    /// Registers for a wakeup when the partition stops or records beyond `offset` become visible.
    /// Unflushed records are flushed at once, because a reader now waits for them.
    pub fn wait_beyond(self: &Arc<Self>, offset: Offset, wake: &Arc<Notify>) -> Registration {
        let registration = Registration::new(self, offset, wake);
        if let Some(log) = self.log.get()
            && log.flushed_offset() < log.log_end_offset()
        {
            self.logs.flusher.schedule(log, true);
        }
        registration
    }
}

impl Registration {
    /// Registers for a wakeup when the partition moves beyond `beyond`.
    pub(super) fn new(partition: &Arc<Partition>, beyond: Offset, wake: &Arc<Notify>) -> Self {
        let ticket = partition.waiting().register(beyond, wake);
        Self { partition: Arc::clone(partition), ticket }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.partition.waiting().cancel(self.ticket);
    }
}
