//! Loading a log's files, when it is first used or after recovery.

use std::sync::Arc;
use std::time::Duration;

use crate::storage::StorageError;
use crate::storage::log::Log;
use crate::storage::log::tail::{Active, Refused, State, Tail};
use crate::storage::recovery::{self, Known};
use crate::storage::segments::{FileKind, Segment};

/// The time for which a log that failed to load is not loaded again.
const RELOAD_PAUSE: Duration = Duration::from_mins(1);

impl Log {
    /// Loads a log that was closed cleanly: it must still end where the close left it. If its files
    /// were damaged since, it is recovered as after an unclean shutdown.
    pub(super) fn load(&self, tail: &mut Tail) -> Result<(), StorageError> {
        let now = self.context.clock.monotonic();
        if let Some(refused) = tail.refused.as_ref().filter(|refused| now < refused.until) {
            let Refused { offsets, path, position, .. } = refused;
            return Err(self.context.corrupt(*offsets, (path, *position)));
        }
        let loaded = match self.load_as_closed(tail) {
            Err(damage @ StorageError::Corrupt { .. }) => {
                tracing::error!("{damage}; the whole log is recovered");
                match self.load_damaged(tail) {
                    // The disk has logged its error, and each request would read the log again.
                    Err(StorageError::Io { .. }) => Err(damage),
                    result => result,
                }
            }
            result => result,
        };
        if let Err(StorageError::Corrupt { first, next, path, position, .. }) = &loaded {
            let until = now.saturating_add(RELOAD_PAUSE);
            let (offsets, path, position) = ((*first, *next), path.clone(), *position);
            tail.refused = Some(Refused { offsets, path, position, until });
        }
        loaded
    }

    /// Recovers the readable part. If the file is shorter than at the close, nothing is appended,
    /// since a backup may still be restored.
    fn load_damaged(&self, tail: &mut Tail) -> Result<(), StorageError> {
        // All of it was durable when the log was closed, so nothing may be truncated.
        let log_start = self.log_start_offset();
        let known =
            Known { log_start, durable: tail.next_offset, rebuild: log_start, same_boot: true };
        let recovered = recovery::recover(&self.context, &known, self.producer_limits)?;
        let last_damage = recovered.segments.last().and_then(|segment| segment.damages().pop());
        let is_cut_off = last_damage.is_some_and(|last| last.start == last.end);
        let is_end_known = recovered.log_end == tail.next_offset && !is_cut_off;
        *self.lock_epochs() = recovered.epochs;
        tail.producers = recovered.producers;
        let segments = Arc::new(recovered.segments);
        self.segments.store(Arc::clone(&segments));
        match segments.last() {
            Some(_) if recovered.ends_in_damage && is_end_known => {
                // The log end offset is known from the close, so the log continues there, after the
                // damage.
                tail.state = State::Open;
                self.roll_tail(tail, self.context.clock.now(), &*self.context.disk)
            }
            Some(last) => self.activate_last(tail, last, recovered.ends_in_damage),
            None => {
                Err(self.context.corrupt((log_start, tail.next_offset), (&self.context.dir, 0)))
            }
        }
    }

    fn load_as_closed(&self, tail: &mut Tail) -> Result<(), StorageError> {
        let segments = self.segments.load_full();
        let Some(last) = segments.last() else {
            tail.state = State::Open;
            return Ok(());
        };
        *self.lock_epochs() = recovery::load_epochs(&self.context, &segments)?;
        tail.producers = recovery::load_producers(
            &self.context,
            &segments,
            (tail.next_offset, self.producer_limits),
        )?;
        let size = last.size()?;
        let ends_in_damage = last.damages().last().is_some_and(|damage| damage.end >= size);
        self.activate_last(tail, last, ends_in_damage)
    }

    /// Loads a log that recovery has read.
    pub(super) fn load_recovered(&self, ends_in_damage: bool) -> Result<(), StorageError> {
        let mut tail = self.lock_tail();
        let segments = self.segments.load();
        let Some(last) = segments.last() else {
            tail.state = State::Open;
            return Ok(());
        };
        self.activate_last(&mut tail, last, ends_in_damage)
    }

    /// Makes the last segment the active one.
    fn activate_last(
        &self,
        tail: &mut Tail,
        last: &Arc<Segment>,
        ends_in_damage: bool,
    ) -> Result<(), StorageError> {
        if ends_in_damage {
            tail.state = State::EndsInDamage;
            return self.roll_past_skipped_end(tail, last);
        }
        let size = last.size()?;
        let (indexer, batch) = last.end_at(size)?;
        let end = batch.map_or(last.base(), |batch| batch.summary.next_offset());
        if end != tail.next_offset {
            let bounds = (end.min(tail.next_offset), end.max(tail.next_offset));
            return Err(self.context.corrupt(bounds, (&last.path(FileKind::Log), size)));
        }
        tail.active = Some(Active {
            segment: Arc::clone(last),
            size,
            indexer,
            digests: last.digests_to_grow(size)?,
            began: self.context.clock.monotonic(),
            last_append: self.context.clock.now(),
        });
        tail.state = State::Open;
        Ok(())
    }

    /// Lets a log that ends in damage accept records again once that damage was skipped.
    pub(in crate::storage) fn resume_after_damage(&self) -> Result<(), StorageError> {
        let mut tail = self.lock_tail();
        let segments = self.segments.load_full();
        match segments.last() {
            Some(last) if tail.state == State::EndsInDamage => {
                self.roll_past_skipped_end(&mut tail, last)
            }
            _ => Ok(()),
        }
    }

    /// Rolls to a new segment after damage at the end of the last one, if the damage was skipped.
    fn roll_past_skipped_end(&self, tail: &mut Tail, last: &Segment) -> Result<(), StorageError> {
        let damages = last.damages();
        if !damages.last().is_some_and(|damage| self.context.is_skipped(damage)) {
            return Ok(());
        }
        self.roll_tail(tail, self.context.clock.now(), &*self.context.disk)?;
        tail.state = State::Open;
        Ok(())
    }

    /// Makes durable what must precede the first record of an epoch: the directory and the epoch
    /// history. `append` calls it if no other caller has; it blocks on the disk.
    pub fn prepare(&self) -> Result<(), StorageError> {
        let tail = self.writable_tail()?;
        if tail.is_prepared {
            return Ok(());
        }
        let is_new = tail.active.is_none();
        drop(tail);
        if is_new {
            let dir = &self.context.dir;
            let created = self.context.disk.create_dir(dir);
            created.map_err(|error| self.context.refused("create", error))?;
            let parent = dir.parent().unwrap_or(dir);
            let synced = self.context.disk.sync_dir(parent);
            synced.map_err(|error| StorageError::io("sync", parent, error))?;
        }
        let epochs = self.lock_epochs();
        epochs.store().map_err(|error| self.context.refused("write the epochs of", error))?;
        let stored = epochs.latest();
        drop(epochs);
        let mut tail = self.lock_tail();
        // Another epoch may have started meanwhile; it is not stored then.
        tail.is_prepared = stored == Some(tail.epoch);
        Ok(())
    }
}
