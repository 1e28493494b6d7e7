//! A file that is closed when its descriptor is needed for another file.
//!
//! A use of an open file takes no lock: it loads a pointer, and the handle it has loaded stays open
//! until the use is over. Opening and closing happen under the lock of the file's state. A writer
//! pins the file before it loads the pointer, and the cache checks the pins after it has cleared
//! the pointer. So if a writer and the cache race, at least one of them sees the other.

use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::time::SystemTime;

use arc_swap::ArcSwapOption;

use super::ring::{Closing, Entry, Handle, OpenFiles};
use crate::io::displacement::Displaced;
use crate::io::{
    DirectBuffer, Disk, File, Inode, OpenMode, failed_sync, is_displaced, is_failed_sync,
    same_error,
};

/// A file of a cache. A use that finds it closed opens it by its path, which must still refer to
/// the same file. Before another file takes the path, retire this file or keep it open. A use that
/// finds a different file at the path fails, and neither reads nor writes it.
#[derive(Debug)]
pub struct CachedFile {
    cache: OpenFiles,
    disk: Arc<dyn Disk>,
    this: Weak<Self>,
    open: ArcSwapOption<Handle>,
    state: Mutex<State>,
    /// True if the file was used since the cache last examined it.
    is_used: AtomicBool,
    /// The number of writers at work, and of other callers that need the file open.
    pins: AtomicUsize,
    /// The number of changes so far. The first `synced` of them are durable.
    changes: AtomicU64,
    synced: AtomicU64,
    /// The failure of a sync by the cache, reported to every caller that syncs from then on.
    failure: OnceLock<io::Error>,
}

#[derive(Debug)]
struct State {
    path: PathBuf,
    /// The identity that the file had when it was first opened.
    inode: Option<Inode>,
    is_kept: bool,
    is_retired: bool,
}

/// Keeps a file open while it lives.
#[derive(Debug)]
pub struct Pin<'a>(&'a CachedFile);

impl CachedFile {
    /// The file at `path`, opened at its first use by `disk`, which is the cache's disk or a layer
    /// above it. The file must exist by then.
    pub fn at(cache: &OpenFiles, disk: &Arc<dyn Disk>, path: PathBuf) -> Arc<Self> {
        let state = State { path, inode: None, is_kept: false, is_retired: false };
        Arc::new_cyclic(|this| Self {
            cache: cache.clone(),
            disk: Arc::clone(disk),
            this: Weak::clone(this),
            open: ArcSwapOption::empty(),
            state: Mutex::new(state),
            is_used: AtomicBool::new(false),
            pins: AtomicUsize::new(0),
            changes: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            failure: OnceLock::new(),
        })
    }

    /// Opens the file, and creates it if absent. Any file found at the path is accepted, since the
    /// caller overwrites all of it.
    ///
    /// # Errors
    /// As the disk's `open`.
    pub fn create(&self) -> io::Result<()> {
        self.open_as(OpenMode::Create).map(drop)
    }

    /// Opens the file, if it is closed, and keeps it open while the guard lives, so that no use
    /// meanwhile fails for want of a descriptor.
    ///
    /// # Errors
    /// As the disk's `open`.
    pub fn pin(&self) -> io::Result<Pin<'_>> {
        let pin = Pin::new(self);
        self.with(|_| Ok(())).map(|()| pin)
    }

    /// Opens the file, if it is closed, and keeps it open until it is renamed by `set_renamed`,
    /// retired or dropped. Call this before its path refers to another file or to none.
    ///
    /// # Errors
    /// As the disk's `open`.
    pub fn keep_open(&self) -> io::Result<()> {
        let _pin = self.pin()?;
        self.lock_state().is_kept = true;
        Ok(())
    }

    /// Sets the path that the file was renamed to, and undoes `keep_open`.
    pub fn set_renamed(&self, path: PathBuf) {
        let mut state = self.lock_state();
        state.path = path;
        state.is_kept = false;
    }

    /// Closes the file even with unsynced bytes, because it is about to be removed, or its path
    /// reused. Uses under way complete normally; until `reinstate`, later ones fail with
    /// `NotFound`.
    pub fn retire(&self) {
        let mut state = self.lock_state();
        state.is_retired = true;
        state.is_kept = false;
        let closed = self.open.swap(None);
        drop(state);
        drop(closed);
    }

    /// Undoes `retire`: the file is still at its path.
    pub fn reinstate(&self) {
        self.lock_state().is_retired = false;
    }

    /// The number of changes so far. Exact while no other thread changes the file.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Records that the first `changes` changes are durable, by a sync of the file system.
    ///
    /// # Errors
    /// The failure of an earlier sync by the cache.
    pub fn note_synced(&self, changes: u64) -> io::Result<()> {
        self.check()?;
        self.synced.fetch_max(changes, Ordering::AcqRel);
        Ok(())
    }

    fn is_pinned(&self) -> bool {
        self.pins.load(Ordering::SeqCst) > 0
    }

    fn is_dirty(&self) -> bool {
        self.changes() != self.synced.load(Ordering::Acquire)
    }

    /// Calls `act` with the open file.
    fn with<T>(&self, act: impl FnOnce(&dyn File) -> io::Result<T>) -> io::Result<T> {
        if let Some(handle) = &*self.open.load() {
            // Load first: a store by every use would contend for the cache line.
            if !self.is_used.load(Ordering::Relaxed) {
                self.is_used.store(true, Ordering::Relaxed);
            }
            return act(&*handle.file);
        }
        let handle = self.open_as(OpenMode::Write)?;
        act(&*handle.file)
    }

    /// Changes the file, which stays open until the change is synced.
    fn change<T>(&self, act: impl FnOnce(&dyn File) -> io::Result<T>) -> io::Result<T> {
        let _pin = Pin::new(self);
        self.with(|file| {
            let done = act(file);
            // Count after the change. If the number rose first, a concurrent sync could read it
            // before the change is made, and then mark the change as durable.
            self.changes.fetch_add(1, Ordering::AcqRel);
            done
        })
    }

    fn open_as(&self, mode: OpenMode) -> io::Result<Arc<Handle>> {
        let mut state = self.lock_state();
        if let Some(handle) = self.open.load_full() {
            return Ok(handle);
        }
        if state.is_retired {
            return Err(ErrorKind::NotFound.into());
        }
        let handle = Arc::new(self.cache.open_counted(&*self.disk, &state.path, mode)?);
        let inode = handle.file.inode()?;
        match state.inode {
            Some(known) if known != inode && mode != OpenMode::Create => {
                return Err(Displaced::Replaced.into());
            }
            _ => state.inode = Some(inode),
        }
        self.open.store(Some(Arc::clone(&handle)));
        self.is_used.store(true, Ordering::Relaxed);
        drop(state);
        let this: Weak<Self> = Weak::clone(&self.this);
        self.cache.track(this);
        Ok(handle)
    }

    fn check(&self) -> io::Result<()> {
        self.failure.get().map_or(Ok(()), |error| Err(failed_sync(same_error(error))))
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lock_state(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl Entry for CachedFile {
    fn is_open(&self) -> bool {
        self.open.load().is_some()
    }

    fn close_if_unused(&self) -> Closing {
        let Some(state) = self.try_lock_state() else { return Closing::InUse };
        if !self.is_open() {
            return Closing::WasClosed;
        }
        let is_needed = state.is_kept || self.is_pinned() || self.is_dirty();
        if is_needed || self.is_used.swap(false, Ordering::Relaxed) {
            return Closing::InUse;
        }
        let Some(handle) = self.open.swap(None) else { return Closing::WasClosed };
        // Pairs with the fence in `Pin::new`: either the pin is seen below, or its owner finds no
        // open file and waits for the state's lock.
        fence(Ordering::SeqCst);
        if self.is_pinned() || self.is_dirty() {
            // A writer came in between. If it found no open file, it waits for the state's lock.
            self.open.store(Some(handle));
            return Closing::InUse;
        }
        Closing::Closed(handle)
    }

    fn awaits_sync(&self) -> bool {
        let is_free = self.try_lock_state().is_some_and(|state| !state.is_kept);
        is_free && self.is_dirty() && !self.is_pinned() && self.failure.get().is_none()
    }

    fn sync_early(&self) {
        let Some(handle) = self.open.load_full() else { return };
        let changes = self.changes();
        match handle.file.sync_data() {
            Ok(()) => {
                self.synced.fetch_max(changes, Ordering::AcqRel);
            }
            Err(error) if is_failed_sync(&error) => {
                let _ = self.failure.set(error);
            }
            // No sync was tried, so nothing is lost.
            Err(_) => {}
        }
    }
}

impl<'a> Pin<'a> {
    fn new(file: &'a CachedFile) -> Self {
        file.pins.fetch_add(1, Ordering::SeqCst);
        // Pairs with the fence in `close_if_unused`.
        fence(Ordering::SeqCst);
        Self(file)
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        self.0.pins.fetch_sub(1, Ordering::SeqCst);
    }
}

impl File for CachedFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.with(|file| file.read_at(buffer, position))
    }

    fn read_ahead(&self, position: u64, length: u64) {
        // If the file cannot be opened, the read that follows returns the error.
        let _ = self.with(|file| {
            file.read_ahead(position, length);
            Ok(())
        });
    }

    fn is_cached(&self, position: u64, length: u64) -> bool {
        // A file that cannot be opened now may open a moment later and then read from the medium.
        self.with(|file| Ok(file.is_cached(position, length))).unwrap_or(false)
    }

    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        self.with(|file| file.read_checked(buffer, position))
    }

    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.with(|file| self.cache.with_descriptor(|| file.read_medium_at(buffer, position)))
    }

    fn read_direct(
        &self,
        buffer: &mut DirectBuffer,
        position: u64,
        length: usize,
    ) -> io::Result<()> {
        self.with(|file| self.cache.with_descriptor(|| file.read_direct(buffer, position, length)))
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        self.change(|file| file.write_at(buffers, position))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.change(|file| file.set_len(length))
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        self.change(|file| file.allocate(length))
    }

    fn len(&self) -> io::Result<u64> {
        self.with(|file| file.len())
    }

    fn modified(&self) -> io::Result<SystemTime> {
        self.with(|file| file.modified())
    }

    fn inode(&self) -> io::Result<Inode> {
        let known = self.lock_state().inode;
        known.map_or_else(|| self.with(|file| file.inode()), Ok)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        let changes = self.changes();
        match self.with(|file| file.sync_data()) {
            Ok(()) => {
                self.synced.fetch_max(changes, Ordering::AcqRel);
                Ok(())
            }
            // The file was closed, so it was durable or retired, and its name was removed since:
            // nothing is left to sync.
            Err(error) if error.kind() == ErrorKind::NotFound && !is_displaced(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize> {
        self.with(|file| file.send_to(socket, position, length))
    }
}
