//! Holding every sync of bytes back, to look at what happens before it.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::machine::{Machine, Shared};

/// While it lives, `sync_data` and `sync_filesystem` do not return. Dropping it lets all go on.
#[derive(Debug)]
#[must_use = "syncs go on as soon as it is dropped"]
pub struct SyncHold {
    shared: Arc<Shared>,
}

impl SyncHold {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        shared.machine().holds += 1;
        Self { shared }
    }

    /// How many calls are waiting.
    pub fn waiting(&self) -> usize {
        self.shared.machine().held_syncs
    }

    /// Waits until so many calls are waiting; false when that takes longer than `patience`.
    pub fn wait_for(&self, calls: usize, patience: Duration) -> bool {
        let too_few = |machine: &mut Machine| machine.held_syncs < calls;
        let machine = self.shared.machine();
        let waited = self.shared.changed.wait_timeout_while(machine, patience, too_few);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl Drop for SyncHold {
    fn drop(&mut self) {
        self.shared.machine().holds -= 1;
        self.shared.changed.notify_all();
    }
}
