//! A sparse, sorted index: a file of entries of one size, and those not yet written to it.
//!
//! Searched by positional reads; nothing of the file is kept in memory. Appending touches memory
//! only; the file is written by whoever flushes. What it says is a hint: the caller checks every
//! answer against the batch it points at, and makes the index again when they differ.

use std::io::{self, ErrorKind, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::io::{Disk, File, OpenMode, read_exact_at, write_all_at};
use crate::storage::segments::entry::Entry;

/// An index of one segment.
#[derive(Debug)]
pub(super) struct Index<E> {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    state: RwLock<State<E>>,
}

#[derive(Debug)]
struct State<E> {
    file: Stored,
    /// Entries of the file that count.
    written: u64,
    /// Entries that follow them.
    pending: Vec<E>,
}

/// What is known of the file.
#[derive(Debug)]
enum Stored {
    NotLooked,
    Absent,
    Open(Arc<dyn File>),
}

impl<E: Entry> Index<E> {
    /// The index in `path`, which is looked at when it is first needed.
    pub(super) fn at(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        let state = State { file: Stored::NotLooked, written: 0, pending: Vec::new() };
        Self { disk, path, state: RwLock::new(state) }
    }

    /// The index of a new segment: whatever `path` holds is none of it.
    pub(super) fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        let index = Self::at(disk, path);
        index.write_lock().file = Stored::Absent;
        index
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
            let entry = state.read(middle)?;
            if holds(&entry) {
                found = Some(entry);
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(found)
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
            if holds(&state.read(middle)?) {
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
        state.written = 0;
        state.pending = entries;
        if matches!(state.file, Stored::NotLooked) && self.look(&mut state).is_err() {
            // It will be made anew when the entries are written.
            state.file = Stored::Absent;
        }
        state.written = 0;
    }

    /// Writes what is pending to the file, and cuts off what does not belong to it. `sync` makes it
    /// durable.
    pub(super) fn write(&self, sync: bool) -> io::Result<()> {
        drop(self.looked()?);
        let mut state = self.write_lock();
        if state.pending.is_empty() && !matches!(state.file, Stored::Open(_)) {
            return Ok(());
        }
        let file = state.open_or_create(&*self.disk, &self.path)?;
        let size = entry_size::<E>();
        let start = state.written * size;
        let bytes: Vec<u8> = state.pending.iter().flat_map(encoded).collect();
        write_all_at(&*file, &mut [IoSlice::new(&bytes)], start)?;
        file.set_len(start + bytes.len() as u64)?;
        state.written += state.pending.len() as u64;
        state.pending = Vec::new();
        drop(state);
        if sync { file.sync_data() } else { Ok(()) }
    }

    /// Makes the file of a new index under another name, which it is to lose, and writes all
    /// there is to it, durably. It is made even when that is nothing.
    pub(super) fn write_as(&self, path: &Path) -> io::Result<()> {
        let mut state = self.write_lock();
        let file = self.disk.open(path, OpenMode::Create)?;
        // An earlier attempt may have left something.
        file.set_len(0)?;
        let bytes: Vec<u8> = state.pending.iter().flat_map(encoded).collect();
        write_all_at(&*file, &mut [IoSlice::new(&bytes)], 0)?;
        state.file = Stored::Open(Arc::clone(&file));
        state.written = state.pending.len() as u64;
        state.pending = Vec::new();
        drop(state);
        file.sync_data()
    }

    /// The state, once the file has been looked at.
    fn looked(&self) -> io::Result<RwLockReadGuard<'_, State<E>>> {
        let state = self.read_lock();
        if !matches!(state.file, Stored::NotLooked) {
            return Ok(state);
        }
        drop(state);
        self.look(&mut self.write_lock())?;
        Ok(self.read_lock())
    }

    fn look(&self, state: &mut State<E>) -> io::Result<()> {
        if !matches!(state.file, Stored::NotLooked) {
            return Ok(());
        }
        match self.disk.open(&self.path, OpenMode::Write) {
            Ok(file) => {
                // A torn last entry does not count.
                state.written = file.len()? / entry_size::<E>();
                state.file = Stored::Open(file);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => state.file = Stored::Absent,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn read_lock(&self) -> RwLockReadGuard<'_, State<E>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_lock(&self) -> RwLockWriteGuard<'_, State<E>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Entry> State<E> {
    fn read(&self, number: u64) -> io::Result<E> {
        let Stored::Open(file) = &self.file else {
            return Err(ErrorKind::NotFound.into());
        };
        let mut bytes = E::Bytes::default();
        read_exact_at(&**file, bytes.as_mut(), number * entry_size::<E>())?;
        Ok(E::decode(&bytes))
    }

    fn open_or_create(&mut self, disk: &dyn Disk, path: &Path) -> io::Result<Arc<dyn File>> {
        if let Stored::Open(file) = &self.file {
            return Ok(Arc::clone(file));
        }
        let file = disk.open(path, OpenMode::Create)?;
        self.file = Stored::Open(Arc::clone(&file));
        Ok(file)
    }
}

fn entry_size<E: Entry>() -> u64 {
    size_of::<E::Bytes>() as u64
}

fn encoded<E: Entry>(entry: &E) -> impl Iterator<Item = u8> {
    let bytes = entry.encode();
    (0..size_of::<E::Bytes>()).map(move |at| bytes.as_ref()[at])
}
