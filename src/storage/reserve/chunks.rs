//! The chunks of the reserve: files of allocated, unused space in `reserve/`.
//!
//! On a full disk, an operation that may use the reserve removes chunks, one after another,
//! until it succeeds. A chunk is a file, so removing it frees blocks and an inode. While any chunk
//! is missing, the data directory accepts no records from producers; the chunks are created again
//! as soon as there is space.
//!
//! | purpose | may use |
//! |---|---|
//! | start, stop, checkpoints, seals, indexes, metadata, operations that free space | all chunks |
//! | committed offsets | half of the chunks |
//! | records of producers | none |

use std::io::{self, Error, ErrorKind, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::io::{Disk, OpenMode, SeededRandom, is_failed_sync, write_all_at};

/// Bytes of a chunk.
const CHUNK: u64 = 64 << 10;

/// The number of chunks of a data directory without logs.
const CHUNKS_MIN: u64 = 8;

/// The number of logs for each further chunk: a stop writes some 13 KiB per modified log, as
/// measured in `tests/it/full_disk/reserve_size.rs`.
const LOGS_PER_CHUNK: u64 = 4;

/// The reserve never exceeds 1/`SHARE_MAX` of the file system, nor `CHUNKS_MAX` chunks (64 MiB).
const SHARE_MAX: u64 = 32;
const CHUNKS_MAX: u64 = 1024;

/// The purpose for which an operation uses the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::storage) enum Purpose {
    /// Records of internal topics, mostly committed offsets. They may use only half of the chunks,
    /// however many groups commit.
    Commits,
    /// All operations by which the broker starts, stops, keeps its metadata and frees space.
    Upkeep,
}

/// The reserve of a data directory.
pub struct Reserve {
    pub(super) disk: Arc<dyn Disk>,
    dir: PathBuf,
    chunks: Mutex<Chunks>,
    is_short: AtomicBool,
    /// True if a producer has found the disk full since the last call of `take_refusal`.
    is_refusing: AtomicBool,
    /// Called when chunks were removed, or a producer found the disk full.
    on_shortage: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// The chunks numbered 0 to `held`, exclusive, exist.
#[derive(Clone, Copy, Debug, Default)]
struct Chunks {
    held: u64,
    wanted: u64,
}

impl Reserve {
    /// Bytes of the reserve of a directory without logs.
    pub(in crate::storage) const BYTES_MIN: u64 = CHUNKS_MIN * CHUNK;

    /// Opens the reserve in `dir`, with the chunks left by an earlier run.
    pub(in crate::storage) fn open(disk: &Arc<dyn Disk>, dir: &Path) -> io::Result<Self> {
        let held = count(&**disk, dir)?;
        Ok(Self {
            disk: Arc::clone(disk),
            dir: dir.to_owned(),
            chunks: Mutex::new(Chunks { held, wanted: held }),
            is_short: AtomicBool::new(false),
            is_refusing: AtomicBool::new(false),
            on_shortage: OnceLock::new(),
        })
    }

    /// Returns true if there are no chunks.
    pub(in crate::storage) fn is_empty(&self) -> bool {
        self.lock().held == 0
    }

    /// Returns true if chunks are missing, so that producers are refused.
    pub fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Acquire)
    }

    /// The bytes missing, and the bytes of the whole reserve.
    pub(in crate::storage) fn missing(&self) -> (u64, u64) {
        let chunks = *self.lock();
        (chunks.wanted.saturating_sub(chunks.held) * CHUNK, chunks.wanted * CHUNK)
    }

    /// Sets the function that is called when the disk becomes full. Later calls have no effect.
    pub(in crate::storage) fn on_shortage(&self, listener: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_shortage.set(Box::new(listener));
    }

    /// Records that a producer has found the disk full.
    pub(in crate::storage) fn note_refusal(&self) {
        self.is_refusing.store(true, Ordering::Release);
        self.notify_shortage();
    }

    /// Returns true if a producer has found the disk full since the last call.
    pub(in crate::storage) fn take_refusal(&self) -> bool {
        self.is_refusing.swap(false, Ordering::AcqRel)
    }

    fn notify_shortage(&self) {
        if let Some(listener) = self.on_shortage.get() {
            listener();
        }
    }

    /// Removes a chunk. Returns false if this purpose may use no more chunks.
    pub(super) fn remove_chunk(&self, purpose: Purpose) -> io::Result<bool> {
        let mut chunks = self.lock();
        let floor = match purpose {
            Purpose::Commits => chunks.wanted / 2,
            Purpose::Upkeep => 0,
        };
        // Set this before removing the chunk, so that no producer takes its space.
        self.is_short.store(true, Ordering::Release);
        let gives = chunks.held > floor;
        if gives {
            // The file may be gone already: an operator may have removed it to free space.
            self.discard(&self.path(chunks.held - 1))?;
            chunks.held -= 1;
        }
        drop(chunks);
        self.notify_shortage();
        Ok(gives)
    }

    /// Creates the chunks required for this number of logs, as far as there is space, and returns
    /// true if none is missing. `total` is the size of the file system.
    ///
    /// # Errors
    /// Those of the disk, except for want of space.
    pub(in crate::storage) fn restore(&self, logs: u64, total: u64) -> io::Result<bool> {
        let mut chunks = self.lock();
        chunks.wanted = wanted(logs, total);
        while chunks.held > chunks.wanted {
            self.discard(&self.path(chunks.held - 1))?;
            chunks.held -= 1;
        }
        while chunks.held < chunks.wanted && self.make(chunks.held)? {
            chunks.held += 1;
        }
        let is_whole = chunks.held == chunks.wanted;
        self.is_short.store(!is_whole, Ordering::Release);
        Ok(is_whole)
    }

    /// Creates a chunk; returns false if there is no space for it.
    fn make(&self, number: u64) -> io::Result<bool> {
        let path = self.path(number);
        let made = self.disk.create_dir(&self.dir).and_then(|()| allocate(&*self.disk, &path));
        match made {
            Ok(()) => Ok(true),
            Err(error) if is_full(&error) => self.discard(&path).map(|()| false),
            Err(error) => Err(error),
        }
    }

    /// Removes a chunk, or an incomplete one.
    fn discard(&self, path: &Path) -> io::Result<()> {
        match self.disk.remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn path(&self, number: u64) -> PathBuf {
        path_in(&self.dir, number)
    }

    fn lock(&self) -> MutexGuard<'_, Chunks> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Reserve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reserve({} {:?})", self.dir.display(), *self.lock())
    }
}

/// Returns true if an operation failed for want of space, and could succeed after a chunk is
/// removed. EFBIG does not count.
pub(super) fn is_full(error: &Error) -> bool {
    let is_full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    is_full && !is_failed_sync(error)
}

/// The number of chunks required for this number of logs.
fn wanted(logs: u64, total: u64) -> u64 {
    let needed = CHUNKS_MIN + logs.div_ceil(LOGS_PER_CHUNK);
    needed.min(CHUNKS_MAX).min(total / SHARE_MAX / CHUNK)
}

/// Counts the chunks left in `dir` by an earlier run. A power failure may have undone their
/// allocation, so each is allocated again.
fn count(disk: &dyn Disk, dir: &Path) -> io::Result<u64> {
    let mut held = 0;
    while disk.exists(&path_in(dir, held))? {
        match allocate(disk, &path_in(dir, held)) {
            Err(error) if is_full(&error) => break,
            allocated => allocated?,
        }
        held += 1;
    }
    Ok(held)
}

/// Creates a file of one chunk. If the file system cannot reserve space, it is filled with
/// incompressible bytes.
fn allocate(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let file = disk.open(path, OpenMode::Create)?;
    match file.allocate(CHUNK) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let mut random = SeededRandom::new(CHUNK);
            let bytes: Vec<u8> =
                (0..CHUNK / 8).flat_map(|_| random.number().to_le_bytes()).collect();
            write_all_at(&*file, &mut [IoSlice::new(&bytes)], 0)
        }
        allocated => allocated,
    }
}

fn path_in(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:05}"))
}
