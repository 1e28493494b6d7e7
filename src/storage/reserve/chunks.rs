//! The chunks of the reserve: files of allocated, unused space in `reserve/`.
//!
//! When the disk is full, an operation that may use the reserve has chunks removed, one after
//! another, until it succeeds. A chunk is a file, so it gives its blocks and its inode. While any
//! chunk is missing the data directory takes no records from producers; the chunks are made again
//! as soon as there is room.
//!
//! | purpose | may use |
//! |---|---|
//! | start, stop, marks, seals, indexes, metadata, whatever frees space | all chunks |
//! | committed offsets | half of them |
//! | records of producers | none |

use std::io::{self, Error, ErrorKind, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::io::{Disk, OpenMode, SeededRandom, is_failed_sync, write_all_at};

/// Bytes of a chunk.
const CHUNK: u64 = 64 << 10;

/// The chunks of a data directory without logs.
const CHUNKS_MIN: u64 = 8;

/// Logs that add a chunk: a stop takes some 13 KiB for each that was written to, as measured in
/// `tests/it/full_disk/reserve_size.rs`.
const LOGS_PER_CHUNK: u64 = 4;

/// The reserve never exceeds 1/32 of the file system, nor this many chunks (64 MiB).
const SHARE_MAX: u64 = 32;
const CHUNKS_MAX: u64 = 1024;

/// The use that an operation makes of the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::storage) enum Purpose {
    /// Records of the internal topics, committed offsets above all. Half of the chunks are out of
    /// their reach, however many groups commit.
    Commits,
    /// Everything by which the broker starts, stops, keeps its books and frees space.
    Upkeep,
}

/// The reserve of one data directory.
pub struct Reserve {
    pub(super) disk: Arc<dyn Disk>,
    dir: PathBuf,
    chunks: Mutex<Chunks>,
    is_short: AtomicBool,
    /// Whether a producer has found no space since that was last asked.
    is_refusing: AtomicBool,
    /// Called when chunks were given up, or a producer met a full disk.
    on_shortage: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// Chunks 0 to `held` exist.
#[derive(Clone, Copy, Debug, Default)]
struct Chunks {
    held: u64,
    wanted: u64,
}

impl Reserve {
    /// Bytes of the reserve of a directory without logs.
    pub(in crate::storage) const BYTES_MIN: u64 = CHUNKS_MIN * CHUNK;

    /// The reserve in `dir`, with the chunks that an earlier run has left.
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

    /// Whether there is no chunk at all.
    pub(in crate::storage) fn is_empty(&self) -> bool {
        self.lock().held == 0
    }

    /// Whether chunks are missing: producers are refused.
    pub fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Acquire)
    }

    /// Bytes missing, and bytes of the whole reserve.
    pub(in crate::storage) fn missing(&self) -> (u64, u64) {
        let chunks = *self.lock();
        (chunks.wanted.saturating_sub(chunks.held) * CHUNK, chunks.wanted * CHUNK)
    }

    /// Sets the function that is called when the disk turns out to be full. Only the first counts.
    pub(in crate::storage) fn on_shortage(&self, listener: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_shortage.set(Box::new(listener));
    }

    /// Says that a producer has found no space.
    pub(in crate::storage) fn note_refusal(&self) {
        self.is_refusing.store(true, Ordering::Release);
        self.tell();
    }

    /// Whether a producer has found no space since the last call.
    pub(in crate::storage) fn take_refusal(&self) -> bool {
        self.is_refusing.swap(false, Ordering::AcqRel)
    }

    fn tell(&self) {
        if let Some(listener) = self.on_shortage.get() {
            listener();
        }
    }

    /// Removes a chunk. Returns false when this purpose may use no more of them.
    pub(super) fn give_up(&self, purpose: Purpose) -> io::Result<bool> {
        let mut chunks = self.lock();
        let floor = match purpose {
            Purpose::Commits => chunks.wanted / 2,
            Purpose::Upkeep => 0,
        };
        // Before the chunk goes, so that no producer takes its room.
        self.is_short.store(true, Ordering::Release);
        let gives = chunks.held > floor;
        if gives {
            // A person who looked for room may have removed it.
            self.discard(&self.path(chunks.held - 1))?;
            chunks.held -= 1;
        }
        drop(chunks);
        self.tell();
        Ok(gives)
    }

    /// Makes the chunks that a directory of so many logs is to have, as far as there is room, and
    /// returns whether none is missing. `total` is the size of the file system.
    ///
    /// # Errors
    /// Those of the disk, but for a lack of space.
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

    /// Makes a chunk; returns false when there is no room for it.
    fn make(&self, number: u64) -> io::Result<bool> {
        let path = self.path(number);
        let made = self.disk.create_dir(&self.dir).and_then(|()| allocate(&*self.disk, &path));
        match made {
            Ok(()) => Ok(true),
            Err(error) if is_full(&error) => self.discard(&path).map(|()| false),
            Err(error) => Err(error),
        }
    }

    /// Removes a chunk, or what there is of it.
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

/// Whether an operation found no room, and might with a chunk less. A file that is too long would
/// not.
pub(super) fn is_full(error: &Error) -> bool {
    let is_full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    is_full && !is_failed_sync(error)
}

/// The chunks that a directory of so many logs is to have.
fn wanted(logs: u64, total: u64) -> u64 {
    let needed = CHUNKS_MIN + logs.div_ceil(LOGS_PER_CHUNK);
    needed.min(CHUNKS_MAX).min(total / SHARE_MAX / CHUNK)
}

/// The chunks that an earlier run has left in `dir`. A power cut may have taken their room back, so
/// each is given it again.
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

/// Makes a file of one chunk. Where the file system cannot promise room it is taken by bytes that
/// do not compress.
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
