//! The plan of failures: the calls that fail, and the way in which they fail.

use std::io;

use nix::errno::Errno;

/// The calls that are counted and can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// `Disk::open`, whatever the mode.
    Open,
    /// `File::read_at`.
    Read,
    /// `File::read_medium_at`.
    ReadMedium,
    /// `File::read_direct`.
    ReadDirect,
    /// `File::write_at`.
    Write,
    /// `File::set_len`.
    SetLen,
    /// `File::sync_data`.
    SyncData,
    /// `Disk::rename`, matched by the new path.
    Rename,
    /// `Disk::remove_file` and `Disk::remove_dir`.
    Remove,
    /// `Disk::create_dir`.
    CreateDir,
    /// `Disk::list`, `Disk::exists` and `Disk::inode`.
    Look,
    /// `Disk::sync_dir`.
    SyncDir,
    /// `Disk::sync_filesystem`.
    SyncFilesystem,
}

/// The way in which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// EIO. A write may have taken some of its bytes; a sync of data loses the bytes it should have
    /// written.
    InputOutput,
    /// ENOSPC. A write takes nothing; a sync of data loses the bytes it should have written.
    NoSpace,
    /// EPERM.
    NotPermitted,
    /// EBUSY, as for the move of a directory that is a mount.
    Busy,
    /// EXDEV, as for a move to another file system.
    CrossesDevices,
    /// EMFILE. A sync is not tried and loses nothing.
    TooManyOpenFiles,
    /// `sync_data`, `sync_dir` or `sync_filesystem` does nothing, and succeeds. Other calls are not
    /// affected.
    Ignored,
    /// `sync_data` or `sync_filesystem` loses the bytes it should have written, and succeeds. Other
    /// calls are not affected.
    Unnoticed,
    /// A write takes at most this many bytes and returns that number.
    ShortWrite(usize),
    /// A read or write succeeds with one bit flipped, in this byte of its buffer (or in the last
    /// one, if that is earlier).
    FlipBit {
        /// The byte, from the buffer's start.
        byte: usize,
        /// The bit, 0 to 7.
        bit: u8,
    },
}

impl Failure {
    /// The error that the caller gets; `None` if the call seems to succeed.
    pub(super) fn error(self) -> Option<io::Error> {
        let errno = match self {
            Self::InputOutput => Errno::EIO,
            Self::NoSpace => Errno::ENOSPC,
            Self::NotPermitted => Errno::EPERM,
            Self::Busy => Errno::EBUSY,
            Self::CrossesDevices => Errno::EXDEV,
            Self::TooManyOpenFiles => Errno::EMFILE,
            Self::Ignored | Self::Unnoticed | Self::ShortWrite(_) | Self::FlipBit { .. } => {
                return None;
            }
        };
        Some(errno.into())
    }
}

/// An entry of the plan: some calls of one operation fail. Created by [`Fault::new`] and narrowed
/// by the other methods.
#[derive(Clone, Debug)]
pub struct Fault {
    operation: Operation,
    failure: Failure,
    suffix: String,
    first: u64,
    times: u64,
}

impl Fault {
    /// A fault for the next call of this operation, on any path, once.
    pub fn new(operation: Operation, failure: Failure) -> Self {
        Self { operation, failure, suffix: String::new(), first: 1, times: 1 }
    }

    /// Restricts the fault to paths with this suffix: `at_call` and `times` count only the calls on
    /// them.
    #[must_use]
    pub fn on(self, suffix: &str) -> Self {
        Self { suffix: suffix.to_owned(), ..self }
    }

    /// Sets the first call to fail: the `nth` from now on, counted from 1.
    #[must_use]
    pub fn at_call(self, nth: u64) -> Self {
        Self { first: nth, ..self }
    }

    /// Sets the number of consecutive calls that fail.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self { times: count, ..self }
    }

    /// Makes every call fail from the first failing call on, until the faults are cleared.
    #[must_use]
    pub fn for_ever(self) -> Self {
        self.times(u64::MAX)
    }
}

/// Counts calls and decides which of them fail.
#[derive(Debug, Default)]
pub(super) struct FaultPlan {
    calls: std::collections::BTreeMap<Operation, u64>,
    /// The faults, each with the number of matching calls so far.
    faults: Vec<(Fault, u64)>,
}

impl FaultPlan {
    pub(super) fn add(&mut self, fault: Fault) {
        self.faults.push((fault, 0));
    }

    pub(super) fn clear(&mut self) {
        self.faults.clear();
    }

    pub(super) fn calls(&self, operation: Operation) -> u64 {
        self.calls.get(&operation).copied().unwrap_or(0)
    }

    /// Counts a call and returns its failure, if any. If several faults match, the fault added
    /// first wins.
    pub(super) fn next(&mut self, operation: Operation, path: &str) -> Option<Failure> {
        *self.calls.entry(operation).or_default() += 1;
        let mut chosen = None;
        for (fault, seen) in &mut self.faults {
            if fault.operation != operation || !path.ends_with(&fault.suffix) {
                continue;
            }
            *seen += 1;
            let end = fault.first.saturating_add(fault.times);
            if (fault.first..end).contains(seen) && chosen.is_none() {
                chosen = Some(fault.failure);
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(plan: &mut FaultPlan, path: &str) -> Vec<bool> {
        (0..5).map(|_| plan.next(Operation::Write, path).is_some()).collect()
    }

    #[test]
    fn a_fault_applies_to_the_nth_call_of_its_operation_and_path() {
        let mut plan = FaultPlan::default();
        let fault = Fault::new(Operation::Write, Failure::NoSpace);
        plan.add(fault.on(".log").at_call(3).times(2));
        assert_eq!(failing(&mut plan, "a.index"), [false; 5]);
        assert_eq!(plan.next(Operation::Read, "a.log"), None);
        assert_eq!(failing(&mut plan, "a.log"), [false, false, true, true, false]);
        assert_eq!((plan.calls(Operation::Write), plan.calls(Operation::Read)), (10, 1));
    }

    #[test]
    fn a_permanent_fault_ends_when_it_is_cleared() {
        let mut plan = FaultPlan::default();
        plan.add(Fault::new(Operation::Write, Failure::NoSpace).at_call(2).for_ever());
        assert_eq!(failing(&mut plan, "a"), [false, true, true, true, true]);
        plan.clear();
        assert_eq!(failing(&mut plan, "a"), [false; 5]);
    }
}
