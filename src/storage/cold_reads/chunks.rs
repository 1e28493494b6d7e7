//! The chunks of a data directory.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use super::chunk::Cut;
use super::recent::Recent;
use crate::io::{CachedFile, DirectBuffer, DirectBuffers};
use crate::storage::cold_reads::{Chunk, CutLimit};
use crate::types::Offset;

/// The chunks of a data directory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ColdReads {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    buffers: DirectBuffers,
    state: Mutex<State>,
    /// The number of slots, readable without the lock: most reads find no chunk at all.
    slots: AtomicUsize,
    /// Notified when a claim ends.
    loaded: Condvar,
}

#[derive(Debug, Default)]
struct State {
    slots: Vec<Slot>,
    recent: Recent,
}

#[derive(Debug)]
enum Slot {
    /// A chunk that is being read.
    Loading {
        file: Arc<CachedFile>,
        first: Offset,
    },
    Ready(Ready),
}

#[derive(Debug)]
struct Ready {
    chunk: Chunk,
    /// The monotonic time of its last use.
    used_at: Duration,
    /// True if its reader seems to be sequential.
    is_sequential: bool,
    /// True once its last batch was handed out.
    is_used_up: bool,
    /// True once its successor was requested.
    is_continued: bool,
}

/// The place from which a reader wants batches.
#[derive(Clone, Copy, Debug)]
pub(in crate::storage) struct Wanted<'f> {
    /// The file that covers the offset.
    pub(in crate::storage) file: &'f Arc<CachedFile>,
    /// The file of the previous segment, if the offset is the first of its file.
    pub(in crate::storage) before: Option<&'f Arc<CachedFile>>,
    pub(in crate::storage) offset: Offset,
    /// The monotonic time.
    pub(in crate::storage) now: Duration,
}

/// Batches taken from a chunk.
#[derive(Debug)]
pub(in crate::storage) struct Taken {
    /// The bytes of the batches; empty if the limits allow no batch.
    pub(in crate::storage) bytes: Bytes,
    /// The offset from which the next chunk should be read now, for a sequential reader.
    pub(in crate::storage) read_ahead: Option<Offset>,
}

/// The place of a wanted offset in the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::storage) enum Place {
    /// In a chunk.
    InMemory,
    /// At the beginning of a chunk that is being read.
    Loading,
    /// Right after a chunk, at this position of the wanted file.
    Behind(u64),
    /// In no chunk.
    Elsewhere,
}

/// The right to read a chunk into memory. Other readers of it wait until the claim ends.
#[derive(Debug)]
pub(in crate::storage) struct Claim {
    cold_reads: ColdReads,
    file: Arc<CachedFile>,
    first: Offset,
    range: Range<u64>,
    at: Duration,
}

/// The size of a buffer: two stretches with a digest, and half as much again for large batches.
const BUFFER_SIZE: usize = 3 << 20;

/// The maximum number of buffers in use, by chunks and by answers that slow connections have not
/// sent yet.
const BUFFERS_MAX: usize = 12;

/// The time after which a chunk without a reader makes room for another.
const IDLE_MAX: Duration = Duration::from_secs(5);

impl Default for Shared {
    fn default() -> Self {
        Self {
            buffers: DirectBuffers::new(BUFFERS_MAX, BUFFER_SIZE),
            state: Mutex::default(),
            slots: AtomicUsize::new(0),
            loaded: Condvar::new(),
        }
    }
}

impl ColdReads {
    /// The most bytes of a file in a chunk.
    pub(in crate::storage) const CHUNK_MAX: u64 = BUFFER_SIZE as u64;

    /// Returns true if there are no chunks. Takes no lock.
    pub(in crate::storage) fn is_empty(&self) -> bool {
        self.shared.slots.load(Ordering::Acquire) == 0
    }

    /// Takes the wanted batches from a chunk in memory; `None` if no chunk has them.
    pub(in crate::storage) fn take(&self, wanted: Wanted<'_>, limit: CutLimit) -> Option<Taken> {
        self.lock().ready().find_map(|ready| ready.take(wanted, limit))
    }

    /// Finds the place of the wanted batches in the chunks.
    pub(in crate::storage) fn find(&self, wanted: Wanted<'_>, limit: CutLimit) -> Place {
        let mut state = self.lock();
        if state.ready().any(|ready| ready.cut(wanted, limit).is_some()) {
            return Place::InMemory;
        }
        if state.is_loading(wanted) {
            return Place::Loading;
        }
        let behind = state.ready().find_map(|ready| ready.position_behind(wanted));
        behind.map_or(Place::Elsewhere, Place::Behind)
    }

    /// The offset after the chunk that covers the wanted offset, if such a chunk is in memory.
    pub(in crate::storage) fn end_of_chunk(&self, wanted: Wanted<'_>) -> Option<Offset> {
        let mut state = self.lock();
        let mut covering = state.ready().filter(|ready| ready.covers(wanted));
        covering.next().map(|ready| ready.chunk.end().1)
    }

    /// Waits while the chunk that begins at the wanted offset is being read. It may not be in
    /// memory afterwards, because a read can fail.
    pub(in crate::storage) fn wait(&self, wanted: Wanted<'_>) {
        let is_loading = |state: &mut State| state.is_loading(wanted);
        let over = self.shared.loaded.wait_while(self.lock(), is_loading);
        drop(over.unwrap_or_else(PoisonError::into_inner));
    }

    /// Claims the chunk in a `range` of the wanted file, with a buffer for it. `None` if the bytes
    /// should be read through the page cache: another reader is loading them, they were read past
    /// the page cache recently, or no buffer is free.
    pub(in crate::storage) fn claim(
        &self,
        wanted: Wanted<'_>,
        range: Range<u64>,
    ) -> Option<(Claim, DirectBuffer)> {
        let mut state = self.lock();
        let Wanted { file, now, offset: first, .. } = wanted;
        if state.is_loading(wanted) || state.recent.contains(file, range.start, now) {
            return None;
        }
        let buffer = loop {
            if state.slots.len() < BUFFERS_MAX
                && let Some(buffer) = self.shared.buffers.take()
            {
                break buffer;
            }
            let evicted = state.evict(now)?;
            drop(evicted);
        };
        let file = Arc::clone(file);
        state.slots.push(Slot::Loading { file: Arc::clone(&file), first });
        self.shared.slots.store(state.slots.len(), Ordering::Release);
        drop(state);
        Some((Claim { cold_reads: self.clone(), file, first, range, at: now }, buffer))
    }

    /// Frees the memory of chunks that were not used for `IDLE_MAX`.
    pub(in crate::storage) fn release_idle(&self, now: Duration) {
        let mut state = self.lock();
        state.slots.retain(|slot| match slot {
            Slot::Loading { .. } => true,
            Slot::Ready(ready) => !ready.is_idle(now),
        });
        state.recent.expire(now);
        self.shared.slots.store(state.slots.len(), Ordering::Release);
        drop(state);
        self.shared.buffers.release_free();
    }

    /// The number of buffers with memory.
    #[cfg(test)]
    pub(in crate::storage) fn buffers(&self) -> usize {
        self.shared.buffers.count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn ready(&mut self) -> impl Iterator<Item = &mut Ready> {
        self.slots.iter_mut().filter_map(|slot| match slot {
            Slot::Loading { .. } => None,
            Slot::Ready(ready) => Some(ready),
        })
    }

    fn is_loading(&self, wanted: Wanted<'_>) -> bool {
        self.slots.iter().any(|slot| match slot {
            Slot::Loading { file, first } => {
                Arc::ptr_eq(file, wanted.file) && *first == wanted.offset
            }
            Slot::Ready(_) => false,
        })
    }

    /// Removes the least recently used of the chunks that are used up or idle; `None` if there is
    /// none.
    fn evict(&mut self, now: Duration) -> Option<Slot> {
        let key = |slot: &Slot| match slot {
            Slot::Ready(ready) if ready.is_used_up || ready.is_idle(now) => Some(ready.used_at),
            _ => None,
        };
        let unneeded = self.slots.iter().enumerate();
        let unneeded = unneeded.filter_map(|(number, slot)| Some((key(slot)?, number)));
        let (_, number) = unneeded.min()?;
        Some(self.slots.swap_remove(number))
    }
}

impl Ready {
    /// The wanted batches, if they are in this chunk.
    fn cut(&self, wanted: Wanted<'_>, limit: CutLimit) -> Option<Cut> {
        if self.covers(wanted) { self.chunk.cut(wanted.offset, limit) } else { None }
    }

    fn covers(&self, wanted: Wanted<'_>) -> bool {
        self.chunk.is_of(wanted.file) && self.chunk.covers(wanted.offset)
    }

    fn take(&mut self, wanted: Wanted<'_>, limit: CutLimit) -> Option<Taken> {
        let cut = self.cut(wanted, limit)?;
        let is_first = self.is_sequential && !self.is_continued;
        self.is_continued |= is_first;
        // A reader that comes back for more of the chunk reads in sequence.
        self.is_sequential = true;
        self.is_used_up |= cut.is_last;
        self.used_at = wanted.now;
        let read_ahead = is_first.then(|| self.chunk.end().1);
        Some(Taken { bytes: cut.bytes, read_ahead })
    }

    /// The position of the wanted offset in its file, if it follows this chunk directly.
    fn position_behind(&self, wanted: Wanted<'_>) -> Option<u64> {
        let (position, next) = self.chunk.end();
        if next != wanted.offset {
            return None;
        }
        if self.chunk.is_of(wanted.file) {
            return Some(position);
        }
        let before = wanted.before?;
        self.chunk.is_of(before).then_some(0)
    }

    fn is_idle(&self, now: Duration) -> bool {
        now.saturating_sub(self.used_at) >= IDLE_MAX
    }
}

impl Claim {
    /// Adds the chunk that was read. `is_sequential` says that its reader continues directly after
    /// another chunk.
    pub(in crate::storage) fn keep(self, chunk: Chunk, is_sequential: bool, now: Duration) {
        let mut state = self.cold_reads.lock();
        let ready =
            Ready { chunk, used_at: now, is_sequential, is_used_up: false, is_continued: false };
        state.slots.push(Slot::Ready(ready));
        // Dropping the claim removes its `Loading` slot.
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.cold_reads.lock();
        state.slots.retain(|slot| match slot {
            Slot::Loading { file, first } => !Arc::ptr_eq(file, &self.file) || *first != self.first,
            Slot::Ready(_) => true,
        });
        // Count the range as read even if no chunk was kept: another attempt would fail too, so let
        // the next read go through the page cache.
        state.recent.add(&self.file, &self.range, self.at);
        self.cold_reads.shared.slots.store(state.slots.len(), Ordering::Release);
        drop(state);
        self.cold_reads.shared.loaded.notify_all();
    }
}
