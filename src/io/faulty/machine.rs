//! The simulated machine that a disk belongs to: one lock over names, bytes, faults and random
//! numbers.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use super::fault::{Failure, FaultPlan, Operation};
use super::namespace::Namespace;
use crate::io::{DirLock, Disk, SeededRandom, failed_sync};

/// A lock of the inner disk, revoked from its holder by a power failure or the end of the process.
pub(super) type HeldLock = Mutex<Option<DirLock>>;

/// The state that all handles share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) inner: Arc<dyn Disk>,
    pub(super) machine: Mutex<Machine>,
    /// Signalled when a call is blocked, and when blocked calls may go on: after the end of a hold
    /// or a freeze, the end of the process and a power failure.
    pub(super) changed: Condvar,
}

/// The state of the machine.
#[derive(Debug)]
pub(super) struct Machine {
    /// Incremented by every power failure, and by every end of the process; handles of an earlier
    /// incarnation fail.
    pub(super) incarnation: u64,
    /// Incremented by every power failure.
    pub(super) boot: u64,
    /// True while calls wait, as those of a process that is stopped.
    pub(super) is_frozen: bool,
    pub(super) names: Namespace,
    pub(super) random: SeededRandom,
    pub(super) faults: FaultPlan,
    /// One call in this many does some write-back first; 0 means never.
    pub(super) write_back: u64,
    pub(super) free_bytes: Option<u64>,
    /// For each hold, the suffix of the paths whose syncs it blocks.
    pub(super) sync_holds: Vec<String>,
    /// The number of syncs that pass before the next is blocked.
    pub(super) passing: usize,
    pub(super) held_syncs: usize,
    /// Reads of at least this many bytes are blocked.
    pub(super) read_hold: Option<usize>,
    pub(super) held_reads: usize,
    pub(super) locks: Vec<Weak<HeldLock>>,
}

impl Machine {
    pub(super) fn new(inner: Arc<dyn Disk>, seed: u64) -> Self {
        Self {
            incarnation: 0,
            boot: 0,
            is_frozen: false,
            names: Namespace::new(inner),
            random: SeededRandom::new(seed),
            faults: FaultPlan::default(),
            write_back: 0,
            free_bytes: None,
            sync_holds: Vec::new(),
            passing: 0,
            held_syncs: 0,
            read_hold: None,
            held_reads: 0,
            locks: Vec::new(),
        }
    }

    /// Fails unless handles of this incarnation are still valid.
    pub(super) fn check(&self, incarnation: u64) -> io::Result<()> {
        if self.incarnation == incarnation {
            Ok(())
        } else {
            // Mark the error as that of a failed sync, because the caller must not try again.
            Err(failed_sync(io::Error::other(
                "the power or the process has ended since this was opened",
            )))
        }
    }

    /// Returns true if a sync of the file at `path` is blocked.
    pub(super) fn holds_sync(&self, path: &Path) -> bool {
        let path = path.to_string_lossy();
        self.sync_holds.iter().any(|suffix| path.ends_with(suffix))
    }

    /// Returns true if a read of `length` bytes is blocked.
    pub(super) fn holds_read(&self, length: usize) -> bool {
        self.read_hold.is_some_and(|least| length >= least)
    }

    /// Simulates the end of the process that uses the disk: its handles fail, its locks are free,
    /// and everything that it has written can still be read.
    pub(super) fn end_process(&mut self) {
        self.end_incarnation();
        self.names.close_all();
    }

    fn end_incarnation(&mut self) {
        self.incarnation += 1;
        self.is_frozen = false;
        self.read_hold = None;
        for lock in self.locks.drain(..).filter_map(|lock| lock.upgrade()) {
            drop(lock.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }

    /// Simulates a power failure and restart. The seed chooses the changes that survive, which are
    /// written to the inner disk.
    pub(super) fn lose_power(&mut self, inner: &Arc<dyn Disk>, seed: u64) -> io::Result<()> {
        self.end_incarnation();
        self.boot += 1;
        self.random = SeededRandom::new(seed);
        let names = std::mem::replace(&mut self.names, Namespace::new(Arc::clone(inner)));
        names.lose_power(&mut self.random)
    }
}

impl Shared {
    pub(super) fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call: counts it, simulates some background write-back, and returns the failure if
    /// the call has to fail.
    pub(super) fn begin(
        &self,
        incarnation: u64,
        operation: Operation,
        path: &Path,
    ) -> io::Result<(MutexGuard<'_, Machine>, Option<Failure>)> {
        let mut guard = self.machine();
        if guard.is_frozen && guard.incarnation == incarnation {
            let is_frozen =
                |machine: &mut Machine| machine.is_frozen && machine.incarnation == incarnation;
            let waited = self.changed.wait_while(guard, is_frozen);
            guard = waited.unwrap_or_else(PoisonError::into_inner);
        }
        guard.check(incarnation)?;
        let machine = &mut *guard;
        let failure = machine.faults.next(operation, &path.to_string_lossy());
        if machine.random.chance(machine.write_back) {
            machine.names.write_back(&mut machine.random)?;
        }
        Ok((guard, failure))
    }

    /// Waits until reads of `length` bytes are no longer blocked.
    pub(super) fn wait_for_read<'m>(
        &'m self,
        mut guard: MutexGuard<'m, Machine>,
        length: usize,
    ) -> MutexGuard<'m, Machine> {
        guard.held_reads += 1;
        self.changed.notify_all();
        let is_held = |machine: &mut Machine| machine.holds_read(length);
        guard = self.changed.wait_while(guard, is_held).unwrap_or_else(PoisonError::into_inner);
        guard.held_reads -= 1;
        guard
    }

    /// As `begin`, for a sync of bytes: waits until no hold blocks it.
    pub(super) fn begin_sync(
        &self,
        incarnation: u64,
        operation: Operation,
        path: &Path,
    ) -> io::Result<(MutexGuard<'_, Machine>, Option<Failure>)> {
        let (mut guard, failure) = self.begin(incarnation, operation, path)?;
        if guard.holds_sync(path) && guard.passing > 0 {
            guard.passing -= 1;
        } else if guard.holds_sync(path) {
            guard.held_syncs += 1;
            self.changed.notify_all();
            let is_held = |machine: &mut Machine| {
                machine.holds_sync(path) && machine.incarnation == incarnation
            };
            guard = self.changed.wait_while(guard, is_held).unwrap_or_else(PoisonError::into_inner);
            guard.held_syncs -= 1;
            guard.check(incarnation)?;
        }
        Ok((guard, failure))
    }
}
