//! Making records durable.
//!
//! A flush takes what is dirty, syncs it without any lock that an append needs, oldest segment
//! first, then the directory, and publishes the offset up to which everything was there when it
//! began; unless the log was cut meanwhile. One flush of a log is under way at a time, so that the
//! flushed offset only speaks of what its own or an earlier flush has synced.
//!
//! A sync that fails is the end of the log until the next start, and so is one of a file whose name
//! was removed or given to another meanwhile: nobody would find the records again. One that could
//! not even be tried, since there was no descriptor to open the directory with, leaves what it took
//! up to the next.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use crate::storage::StorageError;
use crate::storage::log::Log;
use crate::storage::log::tail::{Pending, State};
use crate::storage::segments::Segment;
use crate::types::Offset;

/// Called with every flushed offset, after it is published.
pub(super) type FlushListener = Box<dyn Fn(Offset) + Send + Sync>;

/// What no flush has taken up yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unflushed {
    /// So many records.
    pub records: u64,
    /// So many bytes.
    pub bytes: u64,
    /// When `flush.messages` or `flush.ms` wants them flushed, by the monotonic clock.
    pub due: Duration,
}

/// A flush that has begun. Dropped without `finish`, it has published nothing, and what it
/// took up is lost to later flushes: the log must then fail.
#[must_use]
#[derive(Debug)]
pub struct FlushTicket<'log> {
    log: &'log Log,
    segments: Vec<Dirty>,
    pending: Pending,
    names: bool,
    cut: bool,
    target: Offset,
    generation: u64,
    _turn: MutexGuard<'log, ()>,
}

/// So long an answer that waits for no flush may trust an earlier look at the names.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// A segment to be synced, with the changes of its file that the flush answers for.
#[derive(Debug)]
struct Dirty {
    segment: Arc<Segment>,
    changes: u64,
}

/// The active segment's index is written when so many entries wait.
const INDEX_ENTRIES_PENDING: usize = 512;

impl Log {
    /// Makes all records durable that were appended before the call, and returns the offset after
    /// them; of a log that was abandoned, the last one flushed. Blocks while the disk works.
    ///
    /// # Errors
    /// When the disk fails; unless no sync was tried, the log then takes no more records until it
    /// is opened again.
    pub fn flush(&self) -> Result<Offset, StorageError> {
        match self.begin_flush()? {
            Some(ticket) => {
                let synced = ticket.sync();
                ticket.finish(synced)
            }
            None => Ok(self.flushed_offset()),
        }
    }

    /// Takes up what is to be flushed; `None` when all is, or nothing is to be. Waits for a flush
    /// that is under way.
    pub fn begin_flush(&self) -> Result<Option<FlushTicket<'_>>, StorageError> {
        let turn = self.flush_turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tail = self.lock_tail();
        if let State::Failed(failure) = &tail.state {
            return Err(failure.refusal(&self.home.partition));
        }
        if tail.state == State::Abandoned {
            // Its files may be gone; nothing more is promised of it.
            tail.pending = Pending::default();
            return Ok(None);
        }
        let is_clean = !tail.names_dirty && !tail.cut_dirty;
        if tail.next_offset == self.flushed_offset() && is_clean {
            return Ok(None);
        }
        let mut segments = std::mem::take(&mut tail.dirty);
        segments.extend(tail.active.as_ref().map(|active| Arc::clone(&active.segment)));
        Ok(Some(FlushTicket {
            log: self,
            segments: segments.into_iter().map(Dirty::new).collect(),
            pending: std::mem::take(&mut tail.pending),
            names: std::mem::take(&mut tail.names_dirty),
            cut: std::mem::take(&mut tail.cut_dirty),
            target: tail.next_offset,
            generation: tail.generation,
            _turn: turn,
        }))
    }

    /// Sets who is told of every flushed offset from now on; who was told before is no more.
    pub fn on_flush(&self, listener: impl Fn(Offset) + Send + Sync + 'static) {
        self.listener.store(Some(Arc::new(Box::new(listener))));
    }

    /// What waits and is not being flushed; `None` when nothing is.
    pub fn unflushed(&self) -> Option<Unflushed> {
        let Pending { records, bytes, since } = self.lock_tail().pending;
        let since = since?;
        let config = self.home.config.load();
        let is_enough = records >= config.flush_messages;
        let due = if is_enough { since } else { since.saturating_add(config.flush_interval) };
        Some(Unflushed { records, bytes, due })
    }

    /// Whether it is a second since this was last true: then `require_in_place` is due.
    pub(in crate::storage) fn is_look_due(&self, now: Duration) -> bool {
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let next = self.next_look.load(Ordering::Relaxed);
        let interval = u64::try_from(LOOK_INTERVAL.as_millis()).unwrap_or(u64::MAX);
        // Of several threads that find it due, any may look, or all.
        now >= next && {
            self.next_look.store(now.saturating_add(interval), Ordering::Relaxed);
            true
        }
    }

    /// Fails unless the segment that grows is still where its name leads.
    ///
    /// # Errors
    /// One that leaves the disk unknown, when it was removed or replaced.
    pub(in crate::storage) fn require_in_place(&self) -> Result<(), StorageError> {
        let active = self.lock_tail().active.as_ref().map(|active| Arc::clone(&active.segment));
        active.map_or(Ok(()), |segment| segment.require_in_place())
    }

    fn publish_flushed(&self, ticket: &FlushTicket<'_>) -> Offset {
        let tail = self.lock_tail();
        let before = self.flushed_offset();
        if tail.generation != ticket.generation {
            return before;
        }
        assert!(
            before <= ticket.target && ticket.target <= tail.next_offset,
            "a flush to {} of a log flushed to {before} and ending at {}",
            ticket.target,
            tail.next_offset
        );
        self.offsets.flushed.set(ticket.target);
        drop(tail);
        if let Some(listener) = &*self.listener.load() {
            listener(ticket.target);
        }
        ticket.target
    }
}

impl FlushTicket<'_> {
    /// How many files there are to sync.
    #[cfg(any(test, feature = "internals"))]
    pub fn files(&self) -> usize {
        self.segments.len()
    }

    /// Syncs them, and the directory if it has new names.
    pub fn sync(&self) -> Result<(), StorageError> {
        for dirty in &self.segments {
            dirty.segment.sync()?;
        }
        if self.names { self.log.home.sync_names() } else { Ok(()) }
    }

    /// Ends the flush: publishes its offset when everything was `synced`, by `sync` or by a sync
    /// of the whole file system. When a sync has failed the log fails; when none was tried, what
    /// was taken up is left to the next flush.
    pub fn finish(self, synced: Result<(), StorageError>) -> Result<Offset, StorageError> {
        let synced = synced.and_then(|()| self.segments.iter().try_for_each(Dirty::note_synced));
        if let Err(error) = synced.and_then(|()| self.require_in_place()) {
            if error.leaves_disk_unknown() {
                self.log.fail(&error);
            } else {
                self.give_back();
            }
            return Err(error);
        }
        let flushed = self.log.publish_flushed(&self);
        for Dirty { segment, .. } in &self.segments {
            if segment.pending_entries() >= INDEX_ENTRIES_PENDING {
                // Indexes are caches: what cannot be written now stays in memory.
                segment.write_indexes(false).unwrap_or_else(|error| {
                    tracing::warn!(%error, "index entries stay in memory");
                });
            }
        }
        Ok(flushed)
    }

    /// Fails unless the segments that hold what was not flushed before are where their names lead:
    /// a sync succeeds on a file that was removed as well.
    fn require_in_place(&self) -> Result<(), StorageError> {
        let flushed = self.log.flushed_offset();
        // One that ends below is due for its end only, and may be removed at any moment.
        let ends = self.segments.iter().skip(1).map(|next| next.segment.base());
        let ends = ends.chain([Offset::new(i64::MAX)]);
        let holding = self.segments.iter().zip(ends).filter(|(_, end)| *end > flushed);
        for (dirty, _) in holding {
            if let Err(error) = dirty.segment.require_in_place() {
                let is_cut = self.log.lock_tail().generation != self.generation;
                // A cut has removed it, and then this flush publishes nothing.
                return if is_cut { Ok(()) } else { Err(error) };
            }
        }
        Ok(())
    }

    /// Leaves to the next flush what this one has taken up.
    fn give_back(&self) {
        let mut tail = self.log.lock_tail();
        if tail.generation != self.generation {
            // The cut has made dirty again what is left of it.
            return;
        }
        let active = tail.active.as_ref().map(|active| Arc::clone(&active.segment));
        let later = std::mem::take(&mut tail.dirty);
        let is_known =
            |segment: &Arc<Segment>| active.iter().chain(&later).any(|s| Arc::ptr_eq(s, segment));
        let mut dirty: Vec<_> = self.segments.iter().map(|d| Arc::clone(&d.segment)).collect();
        dirty.retain(|segment| !is_known(segment));
        dirty.extend(later.iter().map(Arc::clone));
        tail.dirty = dirty;
        tail.pending = self.pending.followed_by(tail.pending);
        tail.names_dirty |= self.names;
        tail.cut_dirty |= self.cut;
    }
}

impl Dirty {
    fn new(segment: Arc<Segment>) -> Self {
        let changes = segment.cached_file().changes();
        Self { segment, changes }
    }

    /// Lets the file be closed, for all that was changed is durable.
    fn note_synced(&self) -> Result<(), StorageError> {
        let noted = self.segment.cached_file().note_synced(self.changes);
        noted.map_err(|error| self.segment.refused("sync", error))
    }
}
