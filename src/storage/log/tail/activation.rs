//! Loading the state of a log's end from its segments, and continuing after damage at that end.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::storage::log::tail::active::Active;
use crate::storage::log::tail::log_tail::Tail;
use crate::storage::log::tail::state::{Refused, State};
use crate::storage::segments::{FileKind, Segment};
use crate::storage::{ProducerStates, StorageError};
use crate::types::Offset;

/// The time for which a log that failed to load is not loaded again.
const RELOAD_PAUSE: Duration = Duration::from_mins(1);

impl Tail {
    /// Accepts records from now on.
    pub(in crate::storage::log) fn open(&mut self) {
        self.state = State::Open;
    }

    /// Fails if the files could not be loaded a short time ago.
    pub(in crate::storage::log) fn require_not_refused(&self) -> Result<(), StorageError> {
        let context = &self.view.context;
        let now = context.clock.monotonic();
        match self.refused.as_ref().filter(|refused| now < refused.until) {
            Some(Refused { first, next, path, position, .. }) => {
                Err(context.corrupt(*first..*next, path, *position))
            }
            None => Ok(()),
        }
    }

    /// Records damage that makes the whole log unusable: for `RELOAD_PAUSE` the log is not loaded
    /// again.
    pub(in crate::storage::log) fn note_refused(&mut self, error: &StorageError) {
        let StorageError::Corrupt { first, next, path, position, .. } = error else { return };
        let until = self.view.context.clock.monotonic().saturating_add(RELOAD_PAUSE);
        let (first, next, path, position) = (*first, *next, path.clone(), *position);
        self.refused = Some(Refused { first, next, path, position, until });
    }

    /// Takes over the producers and, after a recovery, the segments that were found.
    pub(in crate::storage::log) fn restore(
        &mut self,
        producers: ProducerStates,
        segments: Option<Vec<Arc<Segment>>>,
    ) {
        self.producers = producers;
        if let Some(segments) = segments {
            self.view.segments.set(segments);
        }
    }

    /// Makes the last segment the active one; a log without segments accepts records at once. A log
    /// that ends in damage accepts none until the damage is skipped.
    pub(in crate::storage::log) fn activate(
        &mut self,
        ends_in_damage: bool,
    ) -> Result<(), StorageError> {
        let segments = self.view.segments.snapshot();
        let Some(last) = segments.last() else {
            self.open();
            return Ok(());
        };
        if ends_in_damage {
            self.state = State::EndsInDamage;
            return self.roll_past_skipped_end(last);
        }
        let size = last.size()?;
        let (indexer, batch) = last.end_at(size)?;
        let end = batch.map_or(last.base(), |batch| batch.summary.next_offset());
        let context = &self.view.context;
        if end != self.next_offset {
            let bounds = end.min(self.next_offset)..end.max(self.next_offset);
            return Err(context.corrupt(bounds, &last.path(FileKind::Log), size));
        }
        self.active = Some(Active {
            segment: Arc::clone(last),
            size,
            indexer,
            digests: last.digests_to_grow(size)?,
            began: context.clock.monotonic(),
            last_append: context.clock.now(),
        });
        self.state = State::Open;
        Ok(())
    }

    /// Accepts records from now on, in a new segment after the damage at the end of the log. The
    /// log end offset must be known.
    pub(in crate::storage::log) fn continue_after_damage(&mut self) -> Result<(), StorageError> {
        self.state = State::Open;
        let now = self.view.context.clock.now();
        self.roll(now)
    }

    /// Accepts records again once the damage at the end of the log was skipped.
    pub(in crate::storage::log) fn resume_after_damage(&mut self) -> Result<(), StorageError> {
        let segments = self.view.segments.snapshot();
        match segments.last() {
            Some(last) if self.state == State::EndsInDamage => self.roll_past_skipped_end(last),
            _ => Ok(()),
        }
    }

    /// The offsets that were durable and are lost at the end of the log, so that nothing can be
    /// appended; `None` if its end is sound.
    pub(in crate::storage::log) fn lost_end(&self) -> Option<Range<Offset>> {
        let segments = self.view.segments.snapshot();
        let (start, end) = (self.view.offsets.log_start(), self.next_offset);
        match segments.last() {
            Some(last) if self.state == State::EndsInDamage => {
                last.damages().last().map(|damage| damage.first..damage.next)
            }
            None if start < end => Some(start..end),
            _ => None,
        }
    }

    /// Rolls to a new segment after damage at the end of the last one, if the damage was skipped.
    fn roll_past_skipped_end(&mut self, last: &Segment) -> Result<(), StorageError> {
        let damages = last.damages();
        let context = Arc::clone(&self.view.context);
        if !damages.last().is_some_and(|damage| context.is_skipped(damage)) {
            return Ok(());
        }
        self.roll(context.clock.now())?;
        self.state = State::Open;
        Ok(())
    }
}
