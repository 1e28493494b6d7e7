//! A sparse, sorted index: a file of entries of one size, and those not yet written to it.
//!
//! Searched by positional reads; nothing of the file is kept in memory. Appending touches memory
//! only; the file is written by whoever flushes. What it says is a hint: the caller checks every
//! answer against the batch it points at, and makes the index again when they differ.

use std::io::{self, ErrorKind, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::io::{CachedFile, File, read_exact_at, write_all_at};
use crate::storage::segments::entry::Entry;

/// Entries that are read at once where all of them are.
const ENTRIES_AT_ONCE: u64 = 8 * 1024;

/// An index of one segment.
#[derive(Debug)]
pub(super) struct Index<E> {
    file: Arc<CachedFile>,
    state: RwLock<State<E>>,
}

#[derive(Debug)]
struct State<E> {
    stored: Stored,
    /// Entries of the file that count.
    written: u64,
    /// Entries that follow them.
    pending: Vec<E>,
}

/// What is known of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    NotLooked,
    Absent,
    There,
}

impl<E: Entry> Index<E> {
    /// The index in `file`, which is looked at when it is first needed.
    pub(super) fn at(file: Arc<CachedFile>) -> Self {
        let state = State { stored: Stored::NotLooked, written: 0, pending: Vec::new() };
        Self { file, state: RwLock::new(state) }
    }

    /// Makes it the index of a new segment: whatever the file holds is none of it.
    pub(super) fn ignore_file(&self) {
        self.write_lock().stored = Stored::Absent;
    }

    /// Its file.
    pub(super) fn file(&self) -> &CachedFile {
        &self.file
    }

    /// Keeps the file open, if there is one: its path is about to lead elsewhere.
    pub(super) fn keep_open(&self) -> io::Result<()> {
        let is_there = self.looked()?.stored == Stored::There;
        if is_there { self.file.keep_open() } else { Ok(()) }
    }

    /// Gives the file the path that it was renamed to; it need not be kept open any more.
    pub(super) fn settle(&self, path: PathBuf) {
        self.file.settle(path);
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> io::Result<u64> {
        let state = self.looked()?;
        Ok(state.written + state.pending.len() as u64)
    }

    /// How many entries are not in the file yet.
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

    /// The last entry that `holds` is true of; it is true of all entries before one it is true of.
    pub(super) fn last_where(&self, holds: impl Fn(&E) -> bool) -> io::Result<Option<E>> {
        let state = self.looked()?;
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

    /// Whether all entries come in order. Those that a power failure has taken are zeros, among
    /// which no search finds its way.
    pub(super) fn is_in_order(&self) -> io::Result<bool> {
        let state = self.looked()?;
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

    /// Forgets the entries that `holds` is not true of, which are the last ones.
    pub(super) fn keep_where(&self, holds: impl Fn(&E) -> bool) -> io::Result<()> {
        drop(self.looked()?);
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
        // The file keeps its tail until it is next written: what is not counted is not read.
        state.written = low;
        Ok(())
    }

    /// Puts `entries` in the place of all there are.
    pub(super) fn replace(&self, entries: Vec<E>) {
        let mut state = self.write_lock();
        state.pending = entries;
        // Looked at again: it may have been removed while it was closed.
        state.stored = Stored::NotLooked;
        if self.look(&mut state).is_err() {
            // It is created when the entries are written.
            state.stored = Stored::Absent;
        }
        state.written = 0;
    }

    /// Writes what is pending to the file, and cuts off what does not belong to it. `sync` makes it
    /// durable.
    pub(super) fn write(&self, sync: bool) -> io::Result<()> {
        drop(self.looked()?);
        let mut state = self.write_lock();
        if state.pending.is_empty() && state.stored != Stored::There {
            return Ok(());
        }
        if state.stored != Stored::There {
            self.file.create()?;
            state.stored = Stored::There;
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

    /// Makes the file of a new index under another name, which it is to lose, and writes all
    /// there is to it, durably. It is made even when that is nothing, and stays open until
    /// `settle`.
    pub(super) fn write_as(&self, path: &Path) -> io::Result<()> {
        let mut state = self.write_lock();
        self.file.settle(path.to_owned());
        self.file.create()?;
        self.file.keep_open()?;
        // An earlier attempt may have left something.
        self.file.set_len(0)?;
        let bytes: Vec<u8> = state.pending.iter().flat_map(encoded).collect();
        write_all_at(&*self.file, &mut [IoSlice::new(&bytes)], 0)?;
        state.stored = Stored::There;
        state.written = state.pending.len() as u64;
        state.pending = Vec::new();
        drop(state);
        self.file.sync_data()
    }

    /// The state, once the file has been looked at.
    fn looked(&self) -> io::Result<RwLockReadGuard<'_, State<E>>> {
        let state = self.read_lock();
        if state.stored != Stored::NotLooked {
            return Ok(state);
        }
        drop(state);
        self.look(&mut self.write_lock())?;
        Ok(self.read_lock())
    }

    fn look(&self, state: &mut State<E>) -> io::Result<()> {
        if state.stored != Stored::NotLooked {
            return Ok(());
        }
        match self.file.len() {
            Ok(length) => {
                // A torn last entry does not count.
                state.written = length / entry_size::<E>();
                state.stored = Stored::There;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => state.stored = Stored::Absent,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// An entry of the file.
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
