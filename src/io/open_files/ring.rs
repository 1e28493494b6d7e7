//! The cache of open files.
//!
//! The files are in a ring in the order in which they were opened. A search for a descriptor walks
//! the ring and closes the files that were not used since the previous search: least recently used
//! first, by the second-chance algorithm. It does not wait for a file that is being opened, and
//! holds no lock during a system call.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::share::Share;
use crate::io::{Disk, File, OpenMode, is_out_of_descriptors};

/// The open files of a data directory. Clones are the same cache.
#[derive(Clone)]
pub struct OpenFiles {
    shared: Arc<Shared>,
}

struct Shared {
    disk: Arc<dyn Disk>,
    share: Share,
    /// The number of the process's descriptors that connections hold.
    others: AtomicUsize,
    /// The number of open descriptors, including those that a use under way keeps open.
    open: AtomicUsize,
    ring: Mutex<VecDeque<Weak<dyn Entry>>>,
}

/// An open file, counted until it is closed.
pub(super) struct Handle {
    pub(super) file: Arc<dyn File>,
    counted_in: Arc<Shared>,
}

/// A file in the ring.
pub(super) trait Entry: Send + Sync {
    /// Returns true if the file is open.
    fn is_open(&self) -> bool;

    /// Closes the file, unless it was used since the last attempt or has to stay open.
    fn close_if_unused(&self) -> Closing;

    /// Returns true if only unsynced bytes keep the file open.
    fn awaits_sync(&self) -> bool;

    /// Syncs the file before its next flush, so that it can be closed. A failure is kept for the
    /// callers that sync it later, because the kernel reports it only once.
    fn sync_early(&self);
}

/// The outcome of an attempt to close a file.
pub(super) enum Closing {
    /// Its descriptor is closed once the uses under way are over.
    Closed(Arc<Handle>),
    /// The file was not open.
    WasClosed,
    /// The file stays open.
    InUse,
}

/// The number of times that a call for which no descriptor is free closes files and is tried again.
const ATTEMPTS: usize = 4;

/// The number of files closed before each further attempt.
const RELEASED: usize = 16;

/// Slack for stale ring entries: they are dropped when the ring exceeds twice the open files by
/// this many.
const STALE_MAX: usize = 64;

impl OpenFiles {
    /// A cache of the files of `disk`.
    pub fn new(disk: Arc<dyn Disk>, share: Share) -> Self {
        let shared = Shared {
            disk,
            share,
            others: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            ring: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The number of files that are open.
    pub fn open_count(&self) -> usize {
        self.shared.open.load(Ordering::Acquire)
    }

    /// The number of files that may be open.
    pub fn limit(&self) -> usize {
        self.shared.share.files(self.shared.others.load(Ordering::Acquire))
    }

    /// Records the number of the process's descriptors that connections hold, and closes the files
    /// that exceed the remaining share.
    pub fn leave_to_others(&self, descriptors: usize) {
        self.shared.others.store(descriptors, Ordering::Release);
        self.close(self.excess(self.limit()));
    }

    /// Closes up to `count` files to free descriptors, and returns the number closed. If none can
    /// be closed without a sync, it first syncs the oldest of those with unsynced bytes.
    pub fn release(&self, count: usize) -> usize {
        let closed = self.close(count);
        if closed > 0 { closed } else { self.sync_and_close(count) }
    }

    /// The disk below.
    pub(super) fn disk(&self) -> &dyn Disk {
        &*self.shared.disk
    }

    /// Calls `act`, and repeats it while the process has no descriptor for it and files can be
    /// closed.
    pub(super) fn with_descriptor<T>(
        &self,
        mut act: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        for _ in 0..ATTEMPTS {
            match act() {
                Err(error) if is_out_of_descriptors(&error) && self.release(RELEASED) > 0 => {}
                result => return result,
            }
        }
        act()
    }

    /// Opens a file of the cache, and first closes another if the limit is reached.
    pub(super) fn open_counted(
        &self,
        disk: &dyn Disk,
        path: &Path,
        mode: OpenMode,
    ) -> io::Result<Handle> {
        let excess = self.excess(self.limit().saturating_sub(1));
        let closed = self.close(excess);
        if closed < excess {
            self.sync_and_close(excess - closed);
        }
        let file = self.with_descriptor(|| disk.open(path, mode))?;
        self.shared.open.fetch_add(1, Ordering::AcqRel);
        Ok(Handle { file, counted_in: Arc::clone(&self.shared) })
    }

    /// Adds a file that was just opened to the ring.
    pub(super) fn track(&self, file: Weak<dyn Entry>) {
        let mut ring = self.ring();
        ring.push_back(file);
        if ring.len() > 2 * self.open_count() + STALE_MAX {
            ring.retain(|file| file.upgrade().is_some_and(|file| file.is_open()));
        }
    }

    #[cfg(test)]
    pub(super) fn ring_len(&self) -> usize {
        self.ring().len()
    }

    /// The number of open files beyond `limit`.
    fn excess(&self, limit: usize) -> usize {
        self.open_count().saturating_sub(limit)
    }

    /// Closes up to `count` of the files that need not stay open, and returns the number closed.
    fn close(&self, count: usize) -> usize {
        if count == 0 {
            return 0;
        }
        let mut closed = Vec::new();
        let mut ring = self.ring();
        // The first round clears the marks of use; the second finds no file marked.
        for _ in 0..2 * ring.len() {
            if closed.len() == count {
                break;
            }
            let Some(entry) = ring.pop_front() else { break };
            let Some(file) = entry.upgrade() else { continue };
            match file.close_if_unused() {
                Closing::Closed(handle) => closed.push(handle),
                Closing::WasClosed => {}
                Closing::InUse => ring.push_back(entry),
            }
        }
        drop(ring);
        closed.len()
    }

    /// Syncs the oldest of the files that only unsynced bytes keep open, and closes them.
    fn sync_and_close(&self, count: usize) -> usize {
        let ring = self.ring();
        let files = ring.iter().filter_map(Weak::upgrade);
        let oldest: Vec<_> = files.filter(|file| file.awaits_sync()).take(count).collect();
        drop(ring);
        if oldest.is_empty() {
            return 0;
        }
        for file in oldest {
            file.sync_early();
        }
        self.close(count)
    }

    fn ring(&self) -> MutexGuard<'_, VecDeque<Weak<dyn Entry>>> {
        self.shared.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for OpenFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenFiles({} of {})", self.open_count(), self.limit())
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.counted_in.open.fetch_sub(1, Ordering::AcqRel);
    }
}
