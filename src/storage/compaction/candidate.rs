//! The segments of a log that can be compacted, the decision whether compaction is due, and the
//! effort of a pass.
//!
//! Only closed segments qualify, and only below the high watermark, the recorded durable point and
//! the rebuild point: they are replicated and flushed, and their seals and indexes are written. A
//! segment that is not compacted yet qualifies once all its records are older than
//! `min.compaction.lag.ms`, by their timestamps or the broker's time, whichever is later.

use std::sync::Arc;
use std::time::Duration;

use crate::config::ByteSize;
use crate::storage::compacted::Compacted;
use crate::storage::log::{Closed, ClosedSegments};
use crate::storage::{DataDir, Log, LogConfig, StorageError};
use crate::types::{Offset, Timestamp};

/// A log that may be compacted.
#[derive(Debug)]
pub(crate) struct Candidate {
    /// The log.
    pub(super) log: Arc<Log>,
    /// The topic's settings.
    pub(super) config: Arc<LogConfig>,
    /// The segments that may be compacted, oldest first.
    pub(super) closed: ClosedSegments,
    /// The progress of compaction so far.
    pub(super) compacted: Compacted,
    clean_bytes: u64,
    dirty_bytes: u64,
    is_overdue: bool,
}

/// The limits of a compaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The offset below which segments may be compacted.
    pub(crate) below: Offset,
    /// The wall clock.
    pub(crate) now: Timestamp,
}

impl Candidate {
    /// Determines the segments of a log that can be compacted.
    ///
    /// # Errors
    /// `Corrupt` if one of these segments has damage that the operator has not skipped.
    pub(crate) fn of(log: &Arc<Log>, bounds: Bounds) -> Result<Self, StorageError> {
        let config = log.config();
        let context = log.context();
        let compacted = Compacted::load(&*context.disk, &context.dir)
            .map_err(|source| StorageError::read(&context.dir, source))?;
        let below = bounds.below.min(log.checkpoints().offsets().rebuild);
        let lag = config.min_compaction_lag;
        let youngest = (lag > Duration::ZERO).then(|| bounds.now.minus(lag));
        let mut closed = log.compactable().closed()?;
        let mut candidate = Self {
            log: Arc::clone(log),
            compacted,
            closed: ClosedSegments { segments: Vec::new(), generation: closed.generation },
            clean_bytes: 0,
            dirty_bytes: 0,
            is_overdue: false,
            config,
        };
        for closed in closed.segments.drain(..) {
            let is_dirty = closed.next_offset > compacted.clean_below;
            if closed.next_offset > below {
                break;
            }
            if let Some(youngest) = youngest.filter(|_| is_dirty)
                && closed.has_later_than(youngest)?
            {
                break;
            }
            closed.require_known_sound()?;
            candidate.add(closed, is_dirty, bounds.now)?;
        }
        Ok(candidate)
    }

    /// Returns true if the log must be compacted now.
    pub(crate) fn is_due(&self) -> bool {
        let enough = self.dirty_ratio() >= self.config.min_cleanable_dirty_ratio;
        self.dirty_bytes > 0 && (enough || self.is_overdue)
    }

    /// The fraction of the bytes that is not compacted yet. The higher it is, the more a pass can
    /// remove.
    pub(crate) fn dirty_ratio(&self) -> f64 {
        let all = self.clean_bytes + self.dirty_bytes;
        if all == 0 { 0.0 } else { as_float(self.dirty_bytes) / as_float(all) }
    }

    /// The log.
    pub(crate) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Returns true if a pass that reached `below` has made progress.
    pub(crate) fn is_advanced_by(&self, below: Offset) -> bool {
        below > self.compacted.clean_below
    }

    fn add(&mut self, closed: Closed, is_dirty: bool, now: Timestamp) -> Result<(), StorageError> {
        let size = closed.segment.size()?;
        if is_dirty {
            if self.dirty_bytes == 0 && self.is_overdue(&closed, now)? {
                self.is_overdue = true;
            }
            self.dirty_bytes += size;
        } else {
            self.clean_bytes += size;
        }
        self.closed.segments.push(closed);
        Ok(())
    }

    /// Returns true if the first record of a segment is older than `max.compaction.lag.ms`
    /// (KIP-354).
    fn is_overdue(&self, closed: &Closed, now: Timestamp) -> Result<bool, StorageError> {
        let long_ago = now.minus(self.config.max_compaction_lag);
        if long_ago.millis() < 0 {
            return Ok(false);
        }
        let sealed_at = closed.segment.facts(closed.next_offset)?.sealed_at;
        let first = closed.segment.batches()?.next()?.map(|(place, _)| place.summary.max_timestamp);
        let oldest = first.map_or(sealed_at, |first| first.min(sealed_at));
        Ok(oldest <= long_ago)
    }
}

/// Converts to a float; a ratio needs no more than 53 bits.
#[expect(clippy::cast_precision_loss, reason = "only compared with a setting of few digits")]
fn as_float(bytes: u64) -> f64 {
    bytes as f64
}

/// The resources and the limits of a pass.
#[derive(Clone, Copy)]
pub(crate) struct Effort<'a> {
    /// Bytes for the offsets of keys.
    pub(crate) map_size: ByteSize,
    /// The wall clock.
    pub(crate) now: Timestamp,
    /// The data directory, which may remove the log during the pass.
    pub(crate) directory: Option<&'a DataDir>,
    /// Called with each number of bytes read; waits to keep to the rate, and returns false to stop.
    pub(crate) keep_going: &'a dyn Fn(u64) -> bool,
}
