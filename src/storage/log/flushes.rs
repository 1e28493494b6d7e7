//! Flushes: making records durable.
//!
//! A flush takes over the dirty segments and syncs them, oldest first, then the directory, without
//! any lock that an append needs. It publishes the log end offset at which it began, unless the log
//! was truncated meanwhile. Only one flush of a log runs at a time, so that the flushed offset
//! covers only what this or an earlier flush has synced.
//!
//! After a failed sync the log fails until the next start. The log also fails after the sync of a
//! file whose name was removed or given to another file, because the records could not be found
//! again. If a sync could not be tried, for want of a descriptor to open the directory, the
//! segments are left to the next flush.

use std::fmt;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use crate::storage::StorageError;
use crate::storage::log::flush_turn::FlushTurn;
use crate::storage::log::tail::{Unflushed, Unsynced};
use crate::storage::log::tail_lock::TailLock;
use crate::storage::segments::Segment;
use crate::types::Offset;

/// The flushes of a log.
#[derive(Clone, Copy)]
pub struct Flushes<'log> {
    turn: &'log FlushTurn,
    tail: &'log TailLock,
}

/// A flush that has begun. If dropped without `finish`, it has published nothing and later flushes
/// do not cover its segments: the log must then fail.
#[must_use]
#[derive(Debug)]
pub struct FlushTicket<'log> {
    flushes: Flushes<'log>,
    /// The segments to sync, oldest first.
    segments: Vec<Dirty>,
    /// The changes that the flush makes durable.
    unsynced: Unsynced,
    target: Offset,
    generation: u64,
    _flush_guard: MutexGuard<'log, ()>,
}

/// A segment to sync, with the number of changes of its file that the flush covers.
#[derive(Debug)]
struct Dirty {
    segment: Arc<Segment>,
    changes: u64,
}

/// The number of pending entries at which the active segment's index is written.
const INDEX_ENTRIES_PENDING: usize = 512;

impl fmt::Debug for Flushes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flushes({})", self.tail.context().partition)
    }
}

impl<'log> Flushes<'log> {
    /// The flushes of the log with this tail; `turn` lets one of them run at a time.
    pub(super) fn new(turn: &'log FlushTurn, tail: &'log TailLock) -> Self {
        Self { turn, tail }
    }

    /// Makes all records durable that were appended before the call, and returns the offset after
    /// them. For an abandoned log it returns the last flushed offset. Blocks on the disk.
    ///
    /// # Errors
    /// If the disk fails. If a sync failed, the log then accepts no more records until it is opened
    /// again.
    pub fn flush(self) -> Result<Offset, StorageError> {
        match self.begin()? {
            Some(ticket) => {
                let synced = ticket.sync();
                ticket.finish(synced)
            }
            None => Ok(self.tail.view().flushed()),
        }
    }

    /// Begins a flush; `None` if nothing needs one. Waits for a flush that is under way.
    pub fn begin(self) -> Result<Option<FlushTicket<'log>>, StorageError> {
        let guard = self.turn.lock();
        let mut tail = self.tail.lock();
        let Some(unsynced) = tail.begin_flush()? else { return Ok(None) };
        let segments = unsynced.segments().iter().chain(tail.active_segment());
        Ok(Some(FlushTicket {
            flushes: self,
            segments: segments.map(Dirty::of).collect(),
            unsynced,
            target: tail.next_offset(),
            generation: tail.generation(),
            _flush_guard: guard,
        }))
    }

    /// Sets the listener that receives every flushed offset from now on, replacing the previous
    /// one.
    pub fn listen(self, listener: impl Fn(Offset) + Send + Sync + 'static) {
        self.turn.listen(Box::new(listener));
    }

    /// The records that wait for a flush to begin; `None` if there are none.
    pub fn unflushed(self) -> Option<Unflushed> {
        self.tail.lock().unflushed()
    }

    /// Returns true at most about once a second: `require_in_place` is then due.
    pub(in crate::storage) fn is_check_due(self, now: Duration) -> bool {
        self.turn.is_check_due(now)
    }

    /// Fails unless the name of the active segment still refers to its open file.
    ///
    /// # Errors
    /// An error that leaves the disk unknown, if the file was removed or replaced.
    pub(in crate::storage) fn require_in_place(self) -> Result<(), StorageError> {
        let active = self.tail.lock().active_segment().cloned();
        active.map_or(Ok(()), |segment| segment.require_in_place())
    }

    /// Ends the log of a deleted topic, whatever its state: unflushed records stay unflushed, and
    /// nothing is written, since the disk may be full. Waits for a flush under way.
    pub(super) fn abandon(self) {
        let _flush_guard = self.turn.lock();
        self.tail.lock().abandon();
    }

    fn publish(self, ticket: &FlushTicket<'_>) -> Offset {
        let tail = self.tail.lock();
        let is_published = tail.publish_flushed(ticket.target, ticket.generation);
        let flushed = self.tail.view().flushed();
        drop(tail);
        if is_published {
            self.turn.notify(flushed);
        }
        flushed
    }
}

impl FlushTicket<'_> {
    /// The number of files to sync.
    #[cfg(any(test, feature = "internals"))]
    pub fn files(&self) -> usize {
        self.segments.len()
    }

    /// Syncs the segments, and the directory if it has new names.
    pub fn sync(&self) -> Result<(), StorageError> {
        for dirty in &self.segments {
            dirty.segment.sync()?;
        }
        if self.unsynced.has_names() { self.flushes.tail.context().sync_names() } else { Ok(()) }
    }

    /// Ends the flush: publishes its offset if everything was `synced`, by `sync` or by a sync of
    /// the whole file system. If a sync failed, the log fails. If a sync could not be tried, the
    /// changes are left to the next flush.
    pub fn finish(self, synced: Result<(), StorageError>) -> Result<Offset, StorageError> {
        let synced = synced.and_then(|()| self.segments.iter().try_for_each(Dirty::note_synced));
        if let Err(error) = synced.and_then(|()| self.require_in_place()) {
            if error.leaves_disk_unknown() {
                self.flushes.tail.lock().fail(&error);
            } else {
                self.flushes.tail.lock().take_back(self.unsynced, self.generation);
            }
            return Err(error);
        }
        let flushed = self.flushes.publish(&self);
        for Dirty { segment, .. } in &self.segments {
            if segment.pending_entries() >= INDEX_ENTRIES_PENDING {
                // Indexes are caches: entries that cannot be written now stay in memory.
                segment.write_indexes(false).unwrap_or_else(|error| {
                    tracing::warn!(%error, "index entries stay in memory");
                });
            }
        }
        Ok(flushed)
    }

    /// Fails unless the names of the segments with unflushed records still refer to their files: a
    /// sync succeeds even on a file that was removed.
    fn require_in_place(&self) -> Result<(), StorageError> {
        let flushed = self.flushes.tail.view().flushed();
        // Leave out segments that end below the flushed offset: they may be removed at any moment.
        let ends = self.segments.iter().skip(1).map(|next| next.segment.base());
        let ends = ends.chain([Offset::new(i64::MAX)]);
        let holding = self.segments.iter().zip(ends).filter(|(_, end)| *end > flushed);
        for (dirty, _) in holding {
            if let Err(error) = dirty.segment.require_in_place() {
                let is_cut = self.flushes.tail.lock().generation() != self.generation;
                // A truncation has removed the segment, and then this flush publishes nothing.
                return if is_cut { Ok(()) } else { Err(error) };
            }
        }
        Ok(())
    }
}

impl Dirty {
    fn of(segment: &Arc<Segment>) -> Self {
        Self { segment: Arc::clone(segment), changes: segment.cached_file().changes() }
    }

    /// Records that all changes are durable, so that the file may be closed.
    fn note_synced(&self) -> Result<(), StorageError> {
        let noted = self.segment.cached_file().note_synced(self.changes);
        noted.map_err(|error| self.segment.refused("sync", error))
    }
}
