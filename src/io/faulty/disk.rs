//! The faulty disk's interface: the `Disk` implementation and the controls for tests.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::fault::{Failure, Fault, Operation};
use super::file::{FaultyFile, fail, fail_sync};
use super::hold::{ReadHold, SyncHold};
use super::machine::{Machine, Shared};
use crate::io::{DirLock, Disk, Entry, File, Inode, OpenMode, is_failed_sync};

/// A disk that loses everything not synced. Clones are the same disk of the same running machine.
///
/// Nothing else may change the inner disk while this disk is in use. An absolute and a relative
/// path never name the same file here, and paths with `..` are refused.
#[derive(Clone, Debug)]
pub struct FaultyDisk {
    shared: Arc<Shared>,
    seed: u64,
    incarnation: u64,
    boot: u64,
}

impl FaultyDisk {
    /// A disk over `inner`, whose content counts as durable. All random choices follow from `seed`.
    pub fn new(inner: Arc<dyn Disk>, seed: u64) -> Self {
        let machine = Mutex::new(Machine::new(Arc::clone(&inner), seed));
        let shared = Arc::new(Shared { inner, machine, changed: Condvar::new() });
        Self { shared, seed, incarnation: 0, boot: 0 }
    }

    /// Simulates background write-back: from now on one call in `one_in`, on average, first writes
    /// a dirty page to the medium or makes the oldest change of a name durable. The default of 0
    /// disables this.
    pub fn set_write_back(&self, one_in: u64) {
        self.shared.machine().write_back = one_in;
    }

    /// Simulates a power failure and restart. Of everything not synced, the inner disk gets a
    /// random part, chosen by `seed`: any pages, sectors and lengths, and a prefix of each
    /// directory's changes.
    ///
    /// Returns the disk after the failure. Open files and disks from before it, this value
    /// included, fail from now on, so that threads that still use them do no harm.
    ///
    /// # Errors
    /// Those of the inner disk.
    pub fn crash(&self, seed: u64) -> io::Result<Self> {
        let mut machine = self.shared.machine();
        machine.check(self.incarnation)?;
        machine.lose_power(&self.shared.inner, seed)?;
        Ok(self.reopened(&machine))
    }

    /// Simulates the end of the process that uses the disk, as by `kill -9`: what it has written
    /// stays in the page cache, and its locks are free.
    ///
    /// Returns the disk for the next process. All older handles, open files and this value
    /// included, fail from now on, so that threads left over from before do no harm.
    ///
    /// # Errors
    /// If that has happened already, or the power has failed since.
    pub fn end_process(&self) -> io::Result<Self> {
        let mut machine = self.shared.machine();
        machine.check(self.incarnation)?;
        machine.end_process();
        Ok(self.reopened(&machine))
    }

    /// Lets calls wait until `thaw`, the end of the process or the next power failure, as those of
    /// a process that is stopped.
    pub fn freeze(&self) {
        self.shared.machine().is_frozen = true;
    }

    /// Lets calls go on after `freeze`.
    pub fn thaw(&self) {
        self.shared.machine().is_frozen = false;
        self.shared.changed.notify_all();
    }

    /// The disk as the current incarnation sees it; calls of earlier ones that wait fail.
    fn reopened(&self, machine: &Machine) -> Self {
        self.shared.changed.notify_all();
        let (shared, seed) = (Arc::clone(&self.shared), self.seed);
        Self { shared, seed, incarnation: machine.incarnation, boot: machine.boot }
    }

    /// Adds a fault to the plan. Faults stay in force after a crash.
    pub fn inject(&self, fault: Fault) {
        self.shared.machine().faults.add(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.shared.machine().faults.clear();
    }

    /// The number of calls of an operation, failed ones included.
    pub fn calls(&self, operation: Operation) -> u64 {
        self.shared.machine().faults.calls(operation)
    }

    /// Blocks every `read_at` and `read_direct` of at least `least` bytes until the hold is
    /// dropped, as a slow medium would. Until then, such ranges count as not cached.
    pub fn hold_reads(&self, least: usize) -> ReadHold {
        ReadHold::new(Arc::clone(&self.shared), least)
    }

    /// Blocks every `sync_data` and `sync_filesystem` until the hold is dropped.
    pub fn hold_sync(&self) -> SyncHold {
        self.hold_sync_after(0)
    }

    /// As `hold_sync`, but lets this many pass first.
    pub fn hold_sync_after(&self, passing: usize) -> SyncHold {
        SyncHold::new(Arc::clone(&self.shared), "", passing)
    }

    /// As `hold_sync`, but only for files whose paths end with `suffix`.
    pub fn hold_sync_of(&self, suffix: &str) -> SyncHold {
        SyncHold::new(Arc::clone(&self.shared), suffix, 0)
    }

    /// Sets the result of `free_bytes`; `None`, the default, asks the inner disk.
    pub fn set_free_bytes(&self, bytes: Option<u64>) {
        self.shared.machine().free_bytes = bytes;
    }

    /// Flips one bit (0 to 7) of a byte on the medium, and evicts its page from the page cache. A
    /// page whose bytes are not on the medium stays, and hides the change.
    ///
    /// # Errors
    /// `UnexpectedEof` if the medium has no such byte.
    pub fn flip_bit(&self, path: &Path, position: u64, bit: u8) -> io::Result<()> {
        let mut machine = self.shared.machine();
        machine.check(self.incarnation)?;
        machine.names.file(path)?.flip_bit(position, bit)
    }

    /// Evicts a file's pages from the page cache, except those that are not on the medium yet.
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    pub fn evict(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.shared.machine();
        machine.check(self.incarnation)?;
        machine.names.file(path)?.evict();
        Ok(())
    }

    /// The nearest ancestor of `path` that exists on the inner disk. It is on the same file system
    /// as `path`.
    fn durable_ancestor<'a>(&self, path: &'a Path) -> io::Result<&'a Path> {
        for known in path.ancestors().filter(|known| !known.as_os_str().is_empty()) {
            if self.shared.inner.exists(known)? {
                return Ok(known);
            }
        }
        Ok(Path::new("."))
    }

    fn begin(&self, operation: Operation, path: &Path) -> io::Result<MutexGuard<'_, Machine>> {
        let (machine, failure) = self.shared.begin(self.incarnation, operation, path)?;
        fail(failure)?;
        Ok(machine)
    }
}

impl Disk for FaultyDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let id = self.begin(Operation::Open, path)?.names.open(path, mode)?;
        Ok(Arc::new(FaultyFile {
            shared: Arc::clone(&self.shared),
            incarnation: self.incarnation,
            id,
            path: path.to_owned(),
            writable: mode != OpenMode::Read,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.begin(Operation::Rename, to)?.names.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.begin(Operation::Remove, path)?.names.remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.begin(Operation::CreateDir, path)?.names.create_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.begin(Operation::Remove, path)?.names.remove_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.begin(Operation::Look, dir)?.names.list(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.begin(Operation::Look, path)?.names.exists(path)
    }

    fn inode(&self, path: &Path) -> io::Result<Inode> {
        self.begin(Operation::Look, path)?.names.inode(path)
    }

    fn has_mounts(&self, path: &Path) -> io::Result<bool> {
        self.begin(Operation::Look, path).map(|_| false)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let (mut machine, failure) =
            self.shared.begin(self.incarnation, Operation::SyncDir, dir)?;
        fail_sync(failure)?;
        if failure == Some(Failure::Ignored) {
            return Ok(());
        }
        machine.names.sync_dir(dir)
    }

    fn sync_filesystem(&self, path: &Path) -> io::Result<()> {
        let (mut guard, failure) =
            self.shared.begin_sync(self.incarnation, Operation::SyncFilesystem, path)?;
        let machine = &mut *guard;
        if let Err(error) = fail_sync(failure) {
            if is_failed_sync(&error) {
                machine.names.lose_dirty_pages();
            }
            return Err(error);
        }
        match failure {
            Some(Failure::Ignored) => Ok(()),
            Some(Failure::Unnoticed) => {
                machine.names.lose_dirty_pages();
                Ok(())
            }
            _ => machine.names.sync_all(&mut machine.random),
        }
    }

    fn boot_id(&self) -> io::Result<String> {
        let inner = self.shared.inner.boot_id()?;
        Ok(format!("{inner}-{}-{}", self.seed, self.boot))
    }

    fn total_bytes(&self, path: &Path) -> io::Result<u64> {
        self.shared.machine().check(self.incarnation)?;
        self.shared.inner.total_bytes(self.durable_ancestor(path)?)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        let machine = self.shared.machine();
        machine.check(self.incarnation)?;
        if let Some(bytes) = machine.free_bytes {
            return Ok(bytes);
        }
        self.shared.inner.free_bytes(self.durable_ancestor(path)?)
    }

    fn lock(&self, dir: &Path, note: &Path, owner: &str) -> io::Result<DirLock> {
        if note.parent() != Some(dir) {
            return Err(ErrorKind::InvalidInput.into());
        }
        let mut machine = self.shared.machine();
        machine.check(self.incarnation)?;
        let (inode, lock) = machine.names.lock(note, owner)?;
        let guard = Arc::new(Mutex::new(Some(lock)));
        machine.locks.retain(|lock| lock.strong_count() > 0);
        machine.locks.push(Arc::downgrade(&guard));
        Ok(DirLock::new(inode, Box::new(guard)))
    }
}
