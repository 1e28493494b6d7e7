//! Appends of batches.
//!
//! All batches of a call are written, or none is: after a failed write the file is truncated to its
//! previous size. Readers see nothing of a call before all of it is written.

use std::io::{self, IoSlice};

use crate::io::write_all_at;
use crate::record::{BatchSummary, HEADER_SIZE, HeaderMut, TimestampType};
use crate::storage::log::tail::active::Active;
use crate::storage::log::tail::log_tail::Tail;
use crate::storage::log::tail::state::{Failure, State};
use crate::storage::segments::Located;
use crate::storage::{
    LogConfig, OffsetUnit, ProducerBatch, SequenceError, Staged, StorageError, Verdict,
};
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// The leader epoch and the time of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendAt {
    /// The leader epoch, which `start_epoch` has started.
    pub epoch: LeaderEpoch,
    /// The broker's wall clock.
    pub now: Timestamp,
}

/// The position of a batch in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of its first record.
    pub base_offset: Offset,
    /// The offset that follows it: the batch is flushed once the flushed offset reaches this.
    pub next_offset: Offset,
    /// The time that the log assigned to its records, with `LogAppendTime` only.
    pub log_append_time: Option<Timestamp>,
    /// True if it was appended before: a retry of an idempotent producer.
    pub is_duplicate: bool,
}

/// The outcome for each batch of a call, and the batches to write.
struct Plan {
    outcomes: Vec<Result<Appended, SequenceError>>,
    /// The batches to write, by their index in the call.
    indexes: Vec<usize>,
    new: Addition,
    staged: Staged,
}

/// Batches to write at the end of a log, as they will be in the file.
#[derive(Debug)]
pub(super) struct Addition {
    batches: Vec<BatchSummary>,
    /// The bytes of all batches.
    pub(super) bytes: u64,
    /// The offset of the first record, or the log end offset if there are no batches.
    pub(super) base: Offset,
    /// The offset after the last record.
    pub(super) next_offset: Offset,
}

impl Tail {
    /// Appends validated batches, one per slice, as `Log::append` describes it. The log is in the
    /// epoch of `at`, and prepared for records.
    pub(in crate::storage::log) fn append(
        &mut self,
        batches: &mut [&mut [u8]],
        at: AppendAt,
    ) -> Result<Vec<Result<Appended, SequenceError>>, StorageError> {
        let config = self.view.context.config.load();
        let plan = plan(self, batches, at, &config);
        if !plan.new.is_empty() {
            let mut buffers: Vec<_> =
                plan.indexes.iter().map(|index| IoSlice::new(batches[*index])).collect();
            self.ensure_capacity(&plan.new, at.now, &config)?;
            self.write(&mut buffers)?;
            self.advance_end(&plan.new, at.now);
            let now = self.view.context.clock.monotonic();
            self.producers.record(plan.staged, now);
        }
        Ok(plan.outcomes)
    }

    /// Writes whole batches at the end of the active segment, or none.
    pub(super) fn write(&mut self, buffers: &mut [IoSlice<'_>]) -> Result<(), StorageError> {
        let Some(Active { segment, size, .. }) = &self.active else {
            return Err(self.view.context.refused("append", io::ErrorKind::NotFound.into()));
        };
        let file = segment.file();
        // Keep the file open, so that truncating after a failed write cannot fail for want of a
        // descriptor.
        let _pin = segment.cached_file().pin().map_err(|error| segment.refused("open", error))?;
        let Err(error) = write_all_at(&**file, buffers, *size) else { return Ok(()) };
        let error = segment.refused("write", error);
        // Until a flush has synced the truncation, a crash may bring the bytes back.
        self.unsynced.note_cut();
        if let Err(cause) = file.set_len(*size) {
            let cause = segment.refused("cut back", cause);
            self.state = State::Failed(Failure::half_way(&cause));
        }
        Err(error)
    }

    /// Advances the log end past the batches that were written.
    pub(super) fn advance_end(&mut self, new: &Addition, now: Timestamp) {
        let Some(active) = &mut self.active else { return };
        assert!(
            new.next_offset > self.next_offset,
            "an append leads from {} to {}",
            self.next_offset,
            new.next_offset
        );
        let mut records = 0;
        for summary in &new.batches {
            active.pass(&Located { position: active.size, summary: *summary });
            records += u64::from(summary.record_count);
        }
        active.last_append = now;
        self.next_offset = new.next_offset;
        let elapsed = self.view.context.clock.monotonic();
        self.unsynced.add_records(records, new.bytes, elapsed);
        self.unrecorded.add_bytes(new.bytes);
        // Publish `log_end` before `size`: a reader that sees the new size may assume every byte
        // lies below `log_end`.
        self.view.offsets.set_log_end(new.next_offset);
        active.segment.publish_size(active.size);
    }
}

impl Addition {
    /// An addition without batches yet, with room for `capacity` of them.
    pub(super) fn at(log_end: Offset, capacity: usize) -> Self {
        let batches = Vec::with_capacity(capacity);
        Self { batches, bytes: 0, base: log_end, next_offset: log_end }
    }

    /// Adds a batch after the others.
    pub(super) fn push(&mut self, batch: BatchSummary) {
        if self.batches.is_empty() {
            self.base = batch.base_offset;
        }
        self.bytes += batch.size as u64;
        self.next_offset = batch.next_offset();
        self.batches.push(batch);
    }

    /// Returns true if there are no batches.
    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }
}

/// Assigns every batch its offset, and separates those that must not be written.
fn plan(tail: &Tail, batches: &mut [&mut [u8]], at: AppendAt, config: &LogConfig) -> Plan {
    let mut plan = Plan {
        outcomes: Vec::with_capacity(batches.len()),
        indexes: Vec::with_capacity(batches.len()),
        new: Addition::at(tail.next_offset, batches.len()),
        staged: Staged::default(),
    };
    for (index, batch) in batches.iter_mut().enumerate() {
        let summary = assign_offsets(batch, plan.new.next_offset, at, config);
        let outcome = tail.producers.check(&mut plan.staged, &ProducerBatch::from(&summary));
        if outcome == Ok(Verdict::Append) {
            plan.indexes.push(index);
            plan.new.push(summary);
        }
        plan.outcomes.push(outcome.map(|verdict| appended(verdict, &summary, config)));
    }
    plan
}

/// Writes the fields that the log decides into a batch. Offsets are assigned here and nowhere else.
fn assign_offsets(
    batch: &mut [u8],
    base: Offset,
    at: AppendAt,
    config: &LogConfig,
) -> BatchSummary {
    let size = batch.len();
    let header: Option<&mut [u8; HEADER_SIZE]> = batch.first_chunk_mut();
    #[expect(
        clippy::expect_used,
        reason = "a caller that did not validate has broken the contract"
    )]
    let header = header.expect("a batch has a header");
    let mut fields = HeaderMut::new(header);
    fields.set_base_offset(base);
    fields.set_leader_epoch(at.epoch);
    if config.offset_unit == OffsetUnit::Byte {
        count_bytes(&mut fields);
    }
    if config.timestamp_type == TimestampType::LogAppendTime {
        fields.set_log_append_time(at.now);
    }
    let summary = BatchSummary::parse(header);
    #[expect(
        clippy::expect_used,
        reason = "a caller that did not validate has broken the contract"
    )]
    let summary = summary.expect("the batch was validated");
    assert!(summary.size == size, "a batch of {} bytes came in {size}", summary.size);
    summary
}

/// Gives a batch an offset for each of its bytes. If compression has left fewer bytes than records,
/// the batch gets an offset for each record instead.
fn count_bytes(fields: &mut HeaderMut<'_>) {
    #[expect(
        clippy::expect_used,
        reason = "a caller that did not validate has broken the contract"
    )]
    let summary = fields.summary().expect("the batch was validated");
    let records = usize::try_from(summary.record_count).unwrap_or(usize::MAX);
    let last = summary.size.max(records) - 1;
    fields.set_last_offset_delta(i32::try_from(last).unwrap_or(i32::MAX));
}

fn appended(verdict: Verdict, summary: &BatchSummary, config: &LogConfig) -> Appended {
    let (place, is_duplicate) = match verdict {
        Verdict::Append => (ProducerBatch::from(summary).appended, false),
        Verdict::Duplicate(original) => (original, true),
    };
    let is_log_time = config.timestamp_type == TimestampType::LogAppendTime;
    Appended {
        base_offset: place.base_offset,
        next_offset: place.last_offset.next(),
        log_append_time: is_log_time.then_some(place.max_timestamp),
        is_duplicate,
    }
}
