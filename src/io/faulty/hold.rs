//! Holds on syncs or large reads, for tests of concurrent behaviour.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::machine::{Machine, Shared};

/// Blocks `sync_data` and `sync_filesystem` of some paths while it lives.
#[derive(Debug)]
#[must_use = "syncs go on as soon as it is dropped"]
pub struct SyncHold {
    shared: Arc<Shared>,
    suffix: String,
}

impl SyncHold {
    pub(super) fn new(shared: Arc<Shared>, suffix: &str, passing: usize) -> Self {
        let mut machine = shared.machine();
        machine.sync_holds.push(suffix.to_owned());
        machine.passing = passing;
        drop(machine);
        Self { shared, suffix: suffix.to_owned() }
    }

    /// The number of calls that are blocked.
    pub fn waiting(&self) -> usize {
        self.shared.machine().held_syncs
    }

    /// Waits until `calls` calls are blocked; returns false if that takes longer than `patience`.
    pub fn wait_for(&self, calls: usize, patience: Duration) -> bool {
        wait(&self.shared, patience, |machine| machine.held_syncs < calls)
    }
}

impl Drop for SyncHold {
    fn drop(&mut self) {
        let mut machine = self.shared.machine();
        if let Some(own) = machine.sync_holds.iter().position(|suffix| *suffix == self.suffix) {
            machine.sync_holds.swap_remove(own);
        }
        drop(machine);
        self.shared.changed.notify_all();
    }
}

/// Blocks large reads while it lives.
#[derive(Debug)]
#[must_use = "reads go on as soon as it is dropped"]
pub struct ReadHold {
    shared: Arc<Shared>,
}

impl ReadHold {
    pub(super) fn new(shared: Arc<Shared>, least: usize) -> Self {
        let before = shared.machine().read_hold.replace(least);
        assert_eq!(before, None, "reads are held already");
        Self { shared }
    }

    /// Waits until `calls` calls are blocked; returns false if that takes longer than `patience`.
    pub fn wait_for(&self, calls: usize, patience: Duration) -> bool {
        wait(&self.shared, patience, |machine| machine.held_reads < calls)
    }
}

impl Drop for ReadHold {
    fn drop(&mut self) {
        self.shared.machine().read_hold = None;
        self.shared.changed.notify_all();
    }
}

fn wait(shared: &Shared, patience: Duration, too_few: impl Fn(&Machine) -> bool) -> bool {
    let machine = shared.machine();
    let waited = shared.changed.wait_timeout_while(machine, patience, |machine| too_few(machine));
    !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
}
