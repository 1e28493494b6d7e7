//! The append of batches that a follower has fetched: they stay, byte for byte, as its leader has
//! them.
//!
//! A follower does not trust its leader with its own log (rule R17 in docs/replication.md). A batch
//! is appended only if its checksum is good and it continues the log. Its leader epoch must be
//! neither below that of the batch before nor above the epoch in which it was fetched. Epoch
//! history and producer states come from the batches.

use crate::record::{Batch, BatchSummary, Batches, HEADER_SIZE, RecordError};
use crate::storage::compacted::Compacted;
use crate::storage::log::tail::Tail;
use crate::storage::log::tail_lock::TailLock;
use crate::storage::{OffsetUnit, StorageError};
use crate::types::{LeaderEpoch, Offset};

/// The reason why fetched batches were not appended.
#[derive(Debug, thiserror::Error)]
pub enum FetchedError {
    /// Bytes that are not a sound batch.
    #[error("the batch at byte {position} of the fetched records is damaged")]
    Damaged {
        /// The position in the fetched records.
        position: usize,
        /// The fault.
        source: RecordError,
    },
    /// The records end within a batch.
    #[error("the fetched records end within the batch at byte {position}")]
    CutOff {
        /// The position in the fetched records.
        position: usize,
    },
    /// A batch that does not continue the log.
    #[error("a fetched batch begins at offset {base_offset}, but the log ends at {end}")]
    Offset {
        /// The offset of the batch's first record.
        base_offset: Offset,
        /// The log end offset after the preceding batches of the call.
        end: Offset,
    },
    /// A batch of a leader epoch that cannot follow.
    #[error(
        "the fetched batch at offset {base_offset} has leader epoch {epoch}, but only \
         {lowest} to {highest} may follow"
    )]
    Epoch {
        /// The offset of the batch's first record.
        base_offset: Offset,
        /// Its leader epoch.
        epoch: LeaderEpoch,
        /// The epoch of the record before.
        lowest: LeaderEpoch,
        /// The epoch in which the batch was fetched.
        highest: LeaderEpoch,
    },
    /// The log refused the append.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl FetchedError {
    /// Returns true if only a gap separates the batch from the end of the log: the leader may have
    /// removed the records in between.
    pub fn is_gap(&self) -> bool {
        matches!(self, Self::Offset { base_offset, end } if base_offset > end)
    }
}

/// The append of fetched batches to a log.
#[derive(Clone, Copy)]
pub(super) struct FetchedAppend<'log> {
    tail: &'log TailLock,
}

/// The point at which fetched batches continue a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Continuation {
    /// The end of the log.
    pub(super) end: Offset,
    /// The epoch of its last record.
    pub(super) last_epoch: LeaderEpoch,
    /// The epoch in which the batches were fetched.
    pub(super) fetched_in: LeaderEpoch,
    /// The offset below which records may be missing between batches, as compaction leaves them.
    pub(super) gaps_below: Offset,
}

/// Fetched batches that have passed every check.
#[derive(Debug)]
pub(super) struct FetchedBatches<'a> {
    /// The batches, each with its bytes.
    pub(super) batches: Vec<(BatchSummary, &'a [u8])>,
    /// The offset below which records are missing between batches, if any are.
    pub(super) gaps_below: Option<Offset>,
}

impl<'a> FetchedBatches<'a> {
    /// Checks that `records` are whole, sound batches that continue the log (rule R17).
    pub(super) fn check(records: &'a [u8], from: Continuation) -> Result<Self, FetchedError> {
        let mut unread = Batches::new(records);
        let mut checked = Self { batches: Vec::new(), gaps_below: None };
        let mut at = from;
        loop {
            let position = unread.position();
            let damaged = |source| FetchedError::Damaged { position, source };
            let Some(batch) = unread.next().transpose().map_err(damaged)? else { break };
            let summary = summarize(&batch).map_err(damaged)?;
            at.require(&summary)?;
            if summary.base_offset > at.end {
                checked.gaps_below = Some(summary.base_offset);
            }
            (at.end, at.last_epoch) = (summary.next_offset(), summary.leader_epoch);
            checked.batches.push((summary, batch.bytes()));
        }
        if unread.rest().is_empty() {
            Ok(checked)
        } else {
            Err(FetchedError::CutOff { position: unread.position() })
        }
    }
}

impl Continuation {
    /// Fails unless a batch may follow here.
    fn require(&self, batch: &BatchSummary) -> Result<(), FetchedError> {
        let (base_offset, epoch) = (batch.base_offset, batch.leader_epoch);
        let is_gap = base_offset > self.end && base_offset <= self.gaps_below;
        if base_offset != self.end && !is_gap {
            return Err(FetchedError::Offset { base_offset, end: self.end });
        }
        let (lowest, highest) = (self.last_epoch.max(LeaderEpoch(0)), self.fetched_in);
        if !(lowest..=highest).contains(&epoch) {
            return Err(FetchedError::Epoch { base_offset, epoch, lowest, highest });
        }
        Ok(())
    }
}

fn summarize(batch: &Batch<'_>) -> Result<BatchSummary, RecordError> {
    batch.check_checksum()?;
    let header: &[u8; HEADER_SIZE] = batch.header();
    BatchSummary::parse(header)
}

impl<'log> FetchedAppend<'log> {
    /// Appends to the log with this tail.
    pub(super) fn new(tail: &'log TailLock) -> Self {
        Self { tail }
    }

    /// Appends batches that were fetched in a leader epoch, as `Log::append_fetched` describes it.
    pub(super) fn append(
        self,
        records: &[u8],
        fetched_in: LeaderEpoch,
    ) -> Result<Offset, FetchedError> {
        let tail = self.tail.in_epoch(fetched_in)?;
        let from = self.continuation(&tail, fetched_in);
        let fetched = match FetchedBatches::check(records, from) {
            // Read the known gaps from the disk only if there is a gap.
            Err(error) if error.is_gap() => FetchedBatches::check(
                records,
                Continuation { gaps_below: self.known_gaps()?, ..from },
            ),
            checked => checked,
        }?;
        let end = tail.next_offset();
        if fetched.batches.is_empty() {
            return Ok(end);
        }
        let is_new = tail.active_segment().is_none();
        // Others need the tail while what precedes the records is made durable.
        drop(tail);
        if is_new {
            self.tail.context().create_dir()?;
        }
        if let Some(gaps_below) = fetched.gaps_below {
            self.note_gaps(gaps_below)?;
        }
        let epochs =
            fetched.batches.iter().map(|(batch, _)| (batch.leader_epoch, batch.base_offset));
        self.tail.epochs().record(epochs, end)?;
        let mut tail = self.tail.in_epoch(fetched_in)?;
        if tail.next_offset() != end {
            drop(tail);
            return self.append(records, fetched_in);
        }
        Ok(tail.append_fetched(&fetched.batches, self.tail.context().clock.now())?)
    }

    fn continuation(self, tail: &Tail, fetched_in: LeaderEpoch) -> Continuation {
        let end = tail.next_offset();
        let last_epoch = self.tail.epochs().last_before(end);
        let config = self.tail.context().config.load();
        let is_compacted = config.cleanup_policy.compact;
        let allows_gaps = config.offset_unit == OffsetUnit::Record && is_compacted;
        let gaps_below = Offset::new(if allows_gaps { i64::MAX } else { 0 });
        Continuation { end, last_epoch, fetched_in, gaps_below }
    }

    /// Notes that the leader's log may lack records below an offset, as `Log::expect_gaps`
    /// describes it.
    pub(super) fn expect_gaps(self, gaps_below: Offset) -> Result<(), StorageError> {
        let is_new = self.tail.writable()?.active_segment().is_none();
        if is_new {
            self.tail.context().create_dir()?;
        }
        self.note_gaps(gaps_below)
    }

    /// The offset below which this log may lack records, as far as it knows.
    fn known_gaps(self) -> Result<Offset, StorageError> {
        self.compacted().map(|known| known.gaps_below)
    }

    fn compacted(self) -> Result<Compacted, StorageError> {
        let context = self.tail.context();
        Compacted::load(&*context.disk, &context.dir)
            .map_err(|error| StorageError::read(&context.dir, error))
    }

    /// Records, durably, that compaction on the leader has left gaps: without the record they would
    /// look like damage.
    fn note_gaps(self, gaps_below: Offset) -> Result<(), StorageError> {
        let context = self.tail.context();
        let known = self.compacted()?;
        if known.gaps_below >= gaps_below {
            return Ok(());
        }
        Compacted { gaps_below, ..known }
            .store(&*context.disk, &context.dir)
            .map_err(|error| context.refused("note the compaction of", error))
    }
}
