//! A sparse, sorted index: a file of fixed-size entries, and the entries not yet written to it.
//!
//! Searches use positional reads; nothing of the file is kept in memory. Appends touch memory only;
//! flushes and checkpoints write the file. An index only gives hints: the caller checks every
//! result against the batch it refers to, and rebuilds the index if they differ.

use std::io::{self, ErrorKind, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::io::{CachedFile, File, read_exact_at, write_all_at};
use crate::storage::segments::entry::Entry;

/// The maximum number of entries read at once when the whole index is read.
const ENTRIES_AT_ONCE: u64 = 8 * 1024;

/// An index of a segment.
#[derive(Debug)]
pub(super) struct Index<E> {
    file: Arc<CachedFile>,
    state: RwLock<State<E>>,
}

#[derive(Debug)]
struct State<E> {
    stored: Stored,
    /// The number of valid entries in the file.
    written: u64,
    /// The entries that follow those in the file.
    pending: Vec<E>,
}

/// The known state of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    NotLoaded,
    Absent,
    Present,
}

impl<E: Entry> Index<E> {
    /// The index in `file`, which is opened at the first use.
    pub(super) fn at(file: Arc<CachedFile>) -> Self {
        let state = State { stored: Stored::NotLoaded, written: 0, pending: Vec::new() };
        Self { file, state: RwLock::new(state) }
    }

    /// Makes it the index of a new segment: the file's present content is ignored.
    pub(super) fn ignore_file(&self) {
        self.write_lock().stored = Stored::Absent;
    }

    /// The file of the index.
    pub(super) fn file(&self) -> &CachedFile {
        &self.file
    }

    /// Keeps the file open, if there is one, because its path is about to refer to another file.
    pub(super) fn keep_open(&self) -> io::Result<()> {
        let is_there = self.loaded()?.stored == Stored::Present;
        if is_there { self.file.keep_open() } else { Ok(()) }
    }

    /// Sets the path that the file was renamed to, and undoes `keep_open`.
    pub(super) fn set_renamed(&self, path: PathBuf) {
        self.file.set_renamed(path);
    }

    /// The number of entries.
    pub(super) fn len(&self) -> io::Result<u64> {
        let state = self.loaded()?;
        Ok(state.written + state.pending.len() as u64)
    }

    /// The number of entries that are not in the file yet.
    pub(super) fn pending(&self) -> usize {
        self.read_lock().pending.len()
    }

    /// Appends an entry, in memory.
    pub(super) fn push(&self, entry: E) {
        self.write_lock().pending.push(entry);
    }

    /// The last entry.
    pub(super) fn last(&self) -> io::Result<Option<E>> {
        self.last_where(|_| true)
    }

    /// The last entry for which `holds` is true; it must be true for all entries before that one.
    pub(super) fn last_where(&self, holds: impl Fn(&E) -> bool) -> io::Result<Option<E>> {
        let state = self.loaded()?;
        if let Some(index) = state.pending.partition_point(&holds).checked_sub(1) {
            return Ok(state.pending.get(index).copied());
        }
        let (mut low, mut high) = (0, state.written);
        let mut found = None;
        while low < high {
            let middle = low.midpoint(high);
            let entry = self.read(middle)?;
            if holds(&entry) {
                found = Some(entry);
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(found)
    }

    /// Returns true if all entries are in order. Entries lost to a power failure read as zeros,
    /// which break a binary search.
    pub(super) fn is_in_order(&self) -> io::Result<bool> {
        let state = self.loaded()?;
        let size = entry_size::<E>();
        let mut before: Option<E> = None;
        let mut follows = |entry: E| {
            let is_next = before.is_none_or(|before| entry.follows(&before));
            before = Some(entry);
            is_next
        };
        let mut buffer = Vec::new();
        let mut number = 0;
        while number < state.written {
            let count = (state.written - number).min(ENTRIES_AT_ONCE);
            buffer.resize(usize::try_from(count * size).unwrap_or_default(), 0);
            read_exact_at(&*self.file, &mut buffer, number * size)?;
            let mut entries = buffer.chunks_exact(size_of::<E::Bytes>()).map(decoded::<E>);
            if !entries.all(&mut follows) {
                return Ok(false);
            }
            number += count;
        }
        Ok(state.pending.iter().copied().all(follows))
    }

    /// Removes the entries at the end for which `holds` is false.
    pub(super) fn keep_where(&self, holds: impl Fn(&E) -> bool) -> io::Result<()> {
        drop(self.loaded()?);
        let mut state = self.write_lock();
        let keep = state.pending.partition_point(&holds);
        state.pending.truncate(keep);
        let (mut low, mut high) = (0, state.written);
        while low < high {
            let middle = low.midpoint(high);
            if holds(&self.read(middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        // The file keeps its end until it is next written: entries beyond `written` are not read.
        state.written = low;
        Ok(())
    }

    /// Replaces all entries.
    pub(super) fn replace(&self, entries: Vec<E>) {
        let mut state = self.write_lock();
        state.pending = entries;
        // Check the file again: it may have been removed while it was closed.
        state.stored = Stored::NotLoaded;
        if self.load_length(&mut state).is_err() {
            // Treat a file whose length cannot be read as absent: the next write opens or creates
            // it.
            state.stored = Stored::Absent;
        }
        state.written = 0;
    }

    /// Writes the pending entries to the file, and truncates it after them. `sync` makes it
    /// durable.
    pub(super) fn write(&self, sync: bool) -> io::Result<()> {
        drop(self.loaded()?);
        let mut state = self.write_lock();
        if state.pending.is_empty() && state.stored != Stored::Present {
            return Ok(());
        }
        if state.stored != Stored::Present {
            self.file.create()?;
            state.stored = Stored::Present;
        }
        let size = entry_size::<E>();
        let start = state.written * size;
        let bytes: Vec<u8> = state.pending.iter().flat_map(encoded).collect();
        write_all_at(&*self.file, &mut [IoSlice::new(&bytes)], start)?;
        self.file.set_len(start + bytes.len() as u64)?;
        state.written += state.pending.len() as u64;
        state.pending = Vec::new();
        drop(state);
        if sync { self.file.sync_data() } else { Ok(()) }
    }

    /// Creates the file of a new index under a temporary name and writes all entries to it,
    /// durably. The file is created even without entries, and stays open until `set_renamed`.
    pub(super) fn write_as(&self, path: &Path) -> io::Result<()> {
        let mut state = self.write_lock();
        self.file.set_renamed(path.to_owned());
        self.file.create()?;
        self.file.keep_open()?;
        // An earlier attempt may have left some bytes.
        self.file.set_len(0)?;
        let bytes: Vec<u8> = state.pending.iter().flat_map(encoded).collect();
        write_all_at(&*self.file, &mut [IoSlice::new(&bytes)], 0)?;
        state.stored = Stored::Present;
        state.written = state.pending.len() as u64;
        state.pending = Vec::new();
        drop(state);
        self.file.sync_data()
    }

    /// Locks the state, after reading the file's length if need be.
    fn loaded(&self) -> io::Result<RwLockReadGuard<'_, State<E>>> {
        let state = self.read_lock();
        if state.stored != Stored::NotLoaded {
            return Ok(state);
        }
        drop(state);
        self.load_length(&mut self.write_lock())?;
        Ok(self.read_lock())
    }

    fn load_length(&self, state: &mut State<E>) -> io::Result<()> {
        if state.stored != Stored::NotLoaded {
            return Ok(());
        }
        match self.file.len() {
            Ok(length) => {
                // An incomplete last entry is not counted.
                state.written = length / entry_size::<E>();
                state.stored = Stored::Present;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => state.stored = Stored::Absent,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads an entry of the file.
    fn read(&self, number: u64) -> io::Result<E> {
        let mut bytes = E::Bytes::default();
        read_exact_at(&*self.file, bytes.as_mut(), number * entry_size::<E>())?;
        Ok(E::decode(&bytes))
    }

    fn read_lock(&self) -> RwLockReadGuard<'_, State<E>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_lock(&self) -> RwLockWriteGuard<'_, State<E>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn entry_size<E: Entry>() -> u64 {
    size_of::<E::Bytes>() as u64
}

fn decoded<E: Entry>(bytes: &[u8]) -> E {
    let mut entry = E::Bytes::default();
    entry.as_mut().copy_from_slice(bytes);
    E::decode(&entry)
}

fn encoded<E: Entry>(entry: &E) -> impl Iterator<Item = u8> {
    let bytes = entry.encode();
    (0..size_of::<E::Bytes>()).map(move |at| bytes.as_ref()[at])
}
