//! Lookups by timestamp.

use std::sync::Arc;

use crate::io::read_exact_at;
use crate::record::{Batch, Decompressor, Limits, RecordError};
use crate::storage::StorageError;
use crate::storage::log::reading::checking::Checks;
use crate::storage::log::reading::extent::Extent;
use crate::storage::log::reading::read::CHECKS_MAX;
use crate::storage::log::tail_lock::TailLock;
use crate::storage::segments::{FileKind, Located, Segment};
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// A record found by its timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordAt {
    /// Its timestamp.
    pub timestamp: Timestamp,
    /// Its offset.
    pub offset: Offset,
    /// The leader epoch in which it was appended.
    pub epoch: LeaderEpoch,
}

/// The wanted record: the first at or after both a timestamp and an offset.
#[derive(Clone, Copy, Debug)]
struct Sought {
    timestamp: Timestamp,
    start: Offset,
}

/// The lookups of records by their timestamps.
#[derive(Clone, Copy, Debug)]
pub struct Lookups<'log> {
    checks: Checks<'log>,
    tail: &'log TailLock,
}

impl<'log> Lookups<'log> {
    /// The lookups in the log with this tail, which verify by `checks` the batches that they use.
    pub(in crate::storage::log) fn new(checks: Checks<'log>, tail: &'log TailLock) -> Self {
        Self { checks, tail }
    }

    /// The first record, by offset, with a timestamp of `timestamp` or later.
    ///
    /// # Errors
    /// `Corrupt` if damage may have held the wanted record.
    pub fn offset_for_timestamp(
        self,
        timestamp: Timestamp,
    ) -> Result<Option<RecordAt>, StorageError> {
        let start = self.tail.view().log_start();
        let segments = self.tail.segments();
        for (number, segment) in segments.iter().enumerate() {
            let next_base = segments.next_base(number);
            if next_base.is_some_and(|next| next <= start)
                || self.max_timestamp_of(segment, next_base)? < timestamp
            {
                continue;
            }
            let sought = Sought { timestamp, start };
            let mut from = start.max(segment.base());
            while let Some(batch) = self.sound_batch_at(segment, timestamp, from)? {
                if let Some(record) = self.record_in(segment, &batch, sought)? {
                    return Ok(Some(record));
                }
                from = batch.summary.next_offset();
            }
        }
        Ok(None)
    }

    /// The first batch of a segment with records at or after both a timestamp and an offset. This
    /// batch and all those skipped on the way to it are verified, or checked now, because a wrong
    /// header would lead the search elsewhere.
    fn sound_batch_at(
        self,
        segment: &Arc<Segment>,
        timestamp: Timestamp,
        from: Offset,
    ) -> Result<Option<Located>, StorageError> {
        let mut checks = 0;
        loop {
            let found = segment.first_at_or_after(timestamp, from);
            let (start, batch) = match found {
                Err(StorageError::Corrupt { first, next, .. })
                    if first == next && checks < CHECKS_MAX =>
                {
                    checks += 1;
                    self.checks.check_whole_segment(segment.base())?;
                    continue;
                }
                found => found?,
            };
            let end = batch.map_or(segment.size()?, |batch| batch.end());
            let walked = Extent::of(segment, start..end, segment.truncations());
            // Once all damage is known, the walk skips only the damage that the operator has
            // skipped.
            let is_known = walked.is_verified() || start == end || checks > 0;
            if is_known || self.checks.check_range(segment, walked.bytes())? {
                return Ok(batch);
            }
            checks += 1;
        }
    }

    /// The first record with the largest timestamp in the log (KIP-734); `None` if the log is
    /// empty.
    pub fn max_timestamp(self) -> Result<Option<RecordAt>, StorageError> {
        let segments = self.tail.segments();
        let mut largest = None;
        for (number, segment) in segments.iter().enumerate() {
            let next_base = segments.next_base(number);
            if next_base.is_none_or(|next| next > self.tail.view().log_start()) {
                largest = largest.max(Some(self.max_timestamp_of(segment, next_base)?));
            }
        }
        match largest {
            Some(timestamp) => self.offset_for_timestamp(timestamp),
            None => Ok(None),
        }
    }

    /// The largest timestamp in a segment; for the last one, of the records appended so far.
    fn max_timestamp_of(
        self,
        segment: &Arc<Segment>,
        next_base: Option<Offset>,
    ) -> Result<Timestamp, StorageError> {
        if let Some(next_base) = next_base {
            return Ok(segment.facts(next_base)?.max_timestamp);
        }
        let tail = self.tail.loaded()?;
        match tail.active(segment) {
            Some(active) => Ok(active.max_timestamp()),
            None => Ok(segment.end_at(segment.size()?)?.0.max_timestamp()),
        }
    }

    /// The first record of a batch at or after both a timestamp and an offset.
    fn record_in(
        self,
        segment: &Segment,
        place: &Located,
        sought: Sought,
    ) -> Result<Option<RecordAt>, StorageError> {
        let mut bytes = vec![0; place.summary.size];
        read_exact_at(&**segment.file(), &mut bytes, place.position)
            .map_err(|error| segment.refused("read", error))?;
        sought.find_in(&bytes).map_err(|error| {
            let context = self.tail.context();
            tracing::error!(partition = %context.partition, %error, "a batch is damaged");
            let offsets = place.summary.base_offset..place.summary.next_offset();
            context.corrupt(offsets, &segment.path(FileKind::Log), place.position)
        })
    }
}

impl Sought {
    /// The first record of a batch at or after both the timestamp and the offset.
    fn find_in(self, bytes: &[u8]) -> Result<Option<RecordAt>, RecordError> {
        let batch = Batch::parse(bytes)?;
        batch.check_checksum()?;
        let limits = Limits::default();
        let payload = batch.decompressed(&mut Decompressor::new(limits))?;
        for record in batch.records(&payload, &limits) {
            let record = record?;
            let (timestamp, offset) = (batch.timestamp_of(&record), batch.offset_of(&record));
            if timestamp >= self.timestamp && offset >= self.start {
                return Ok(Some(RecordAt { timestamp, offset, epoch: batch.leader_epoch() }));
            }
        }
        Ok(None)
    }
}
