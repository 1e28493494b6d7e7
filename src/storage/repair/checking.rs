//! The check of fetched batches: a follower does not trust its leader with its own log.

use std::ops::Range;

use crate::record::{Batch, BatchSummary, Batches, RecordError};
use crate::storage::repair::RepairError;
use crate::storage::repair::gaps::{Gap, Gaps};
use crate::storage::{EpochStart, Log, StorageError};
use crate::types::{LeaderEpoch, Offset};

/// The epoch history of a log.
#[derive(Debug)]
pub(super) struct History {
    entries: Vec<EpochStart>,
}

/// The offsets of a damaged stretch that are missing, and the rules for the batches that fill it.
#[derive(Debug)]
pub(super) struct Missing<'r> {
    /// The offsets.
    pub(super) offsets: Range<Offset>,
    /// The epoch of the batch before them.
    pub(super) last_epoch: LeaderEpoch,
    /// The start of the log: nothing is missing below it.
    pub(super) log_start: Offset,
    pub(super) history: &'r History,
    pub(super) gaps: &'r Gaps,
}

/// Fetched batches that have passed every check.
#[derive(Debug)]
pub(super) struct CheckedBatches<'b> {
    /// The batches, each with its bytes.
    pub(super) batches: Vec<(BatchSummary, &'b [u8])>,
    /// The gaps before and between them, and after them if a batch beyond the stretch shows that
    /// there are no more.
    pub(super) gaps: Vec<Gap>,
    /// The offset after the last batch or gap.
    pub(super) next: Offset,
}

impl History {
    /// The history of a log.
    ///
    /// # Errors
    /// If the log cannot be loaded.
    pub(super) fn of(log: &Log) -> Result<Self, StorageError> {
        log.epochs().entries().map(|entries| Self { entries })
    }

    /// The lowest and the highest epoch that a record at `offset` may have, after a record of
    /// `last` epoch.
    fn bounds(&self, offset: Offset, last: LeaderEpoch) -> (LeaderEpoch, LeaderEpoch) {
        let after = self.entries.partition_point(|entry| entry.start <= offset);
        if let Some(known) = after.checked_sub(1).and_then(|index| self.entries.get(index)) {
            return (known.epoch, known.epoch);
        }
        let first = self.entries.first().map_or(LeaderEpoch(i32::MAX), |first| first.epoch);
        (last.max(LeaderEpoch(0)), first)
    }
}

impl Missing<'_> {
    /// Checks that `records` are whole, sound batches that fill the stretch from its start on.
    /// Batches beyond the stretch are left out.
    pub(super) fn check<'b>(&self, records: &'b [u8]) -> Result<CheckedBatches<'b>, RepairError> {
        let mut unread = Batches::new(records);
        let next = self.offsets.start;
        let mut checked = CheckedBatches { batches: Vec::new(), gaps: Vec::new(), next };
        let mut last_epoch = self.last_epoch;
        while checked.next < self.offsets.end {
            let position = unread.position();
            let damaged = |source| RepairError::Damaged { position, source };
            let Some(batch) = unread.next().transpose().map_err(damaged)? else { break };
            let summary = summarize(&batch).map_err(damaged)?;
            let base_offset = summary.base_offset;
            self.pass_gap(&mut checked, base_offset.min(self.offsets.end))?;
            if base_offset >= self.offsets.end {
                return Ok(checked);
            }
            self.require_room(&summary, checked.next)?;
            self.require_epoch(&summary, last_epoch)?;
            (checked.next, last_epoch) = (summary.next_offset(), summary.leader_epoch);
            checked.batches.push((summary, batch.bytes()));
        }
        if checked.next < self.offsets.end && !unread.rest().is_empty() {
            return Err(RepairError::CutOff { position: unread.position() });
        }
        Ok(checked)
    }

    /// Passes over the offsets before `to`, if they may be missing.
    fn pass_gap(&self, checked: &mut CheckedBatches<'_>, to: Offset) -> Result<(), RepairError> {
        if to <= checked.next {
            return Ok(());
        }
        let offsets = checked.next..to;
        let gap = self.gaps.explain(offsets.clone(), self.log_start);
        checked.gaps.push(gap.ok_or(RepairError::Gap(offsets))?);
        checked.next = to;
        Ok(())
    }

    /// Fails unless all offsets of a batch are missing from `next` on.
    fn require_room(&self, batch: &BatchSummary, next: Offset) -> Result<(), RepairError> {
        let offsets = batch.base_offset..batch.next_offset();
        if offsets.start < next || offsets.end > self.offsets.end {
            return Err(RepairError::Overlap { offsets, missing: next..self.offsets.end });
        }
        Ok(())
    }

    /// Fails unless a batch has the epoch that the log had at all its offsets.
    fn require_epoch(&self, batch: &BatchSummary, last: LeaderEpoch) -> Result<(), RepairError> {
        let (base_offset, epoch) = (batch.base_offset, batch.leader_epoch);
        for offset in [base_offset, batch.last_offset] {
            let (lowest, highest) = self.history.bounds(offset, last);
            if !(lowest..=highest).contains(&epoch) {
                return Err(RepairError::Epoch { base_offset, epoch, lowest, highest });
            }
        }
        Ok(())
    }
}

fn summarize(batch: &Batch<'_>) -> Result<BatchSummary, RecordError> {
    batch.check_checksum()?;
    BatchSummary::parse(batch.header())
}
