//! A registration to be woken when a partition makes progress.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::replication::Partition;
use crate::types::Offset;

/// A place among those who wait for a partition, given up when dropped.
#[derive(Debug)]
pub struct Registration {
    partition: Arc<Partition>,
    ticket: u64,
}

impl Partition {
    /// Asks to be woken when records beyond `offset` become visible, or the partition stops. What
    /// is not flushed yet is flushed at once: somebody waits for it.
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
    /// A place among those who wait for the partition to move beyond an offset.
    pub(super) fn new(partition: &Arc<Partition>, beyond: Offset, wake: &Arc<Notify>) -> Self {
        let ticket = partition.waiting().register(beyond, wake);
        Self { partition: Arc::clone(partition), ticket }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.partition.waiting().give_up(self.ticket);
    }
}
