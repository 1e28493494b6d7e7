//! The check that a leader serves its whole log soundly, before a replica gives up its own.

use std::ops::Range;

use crate::record::{Batches, RecordError};
use crate::types::Offset;

/// The reason why a leader's log does not replace that of a replica.
#[derive(Debug, thiserror::Error)]
pub enum UnsoundLog {
    /// The leader lacks records that were committed.
    #[error(
        "the records of the leader are committed up to offset {end}, but this replica knows that \
         all below {floor} were"
    )]
    BelowFloor {
        /// The high watermark of the leader.
        end: Offset,
        /// The offset below which all records were committed.
        floor: Offset,
    },
    /// Bytes that are not a sound batch.
    #[error("the leader sends a damaged batch, after offset {after}")]
    Damaged {
        /// The offset up to which the log is sound.
        after: Offset,
        /// The fault.
        source: RecordError,
    },
    /// Records that end within a batch.
    #[error("the records of the leader end within a batch, after offset {0}")]
    CutOff(Offset),
    /// A batch that does not follow those before.
    #[error("the leader sends a batch at offset {base_offset} where {expected} is expected")]
    Misplaced {
        /// The offset of the batch's first record.
        base_offset: Offset,
        /// The offset after the batch before.
        expected: Offset,
    },
    /// Offsets that are missing although the leader does not declare them as a gap.
    #[error("the leader has no records at offsets {} to {}, the end excluded", .0.start, .0.end)]
    Gap(Range<Offset>),
}

/// The check of a leader's log, whose records are not kept.
#[derive(Debug)]
pub struct LogCheck {
    /// The offset up to which everything is sound.
    next: Offset,
    /// The high watermark when the check began.
    end: Offset,
    /// The gaps that the leader has declared, by rising start.
    declared: Vec<Range<Offset>>,
}

impl LogCheck {
    /// The check of a log from its start to its high watermark, before any records.
    ///
    /// # Errors
    /// `BelowFloor` if all records below `floor` were committed, and the log ends before.
    pub fn new(start: Offset, end: Offset, floor: Offset) -> Result<Self, UnsoundLog> {
        if end < floor {
            return Err(UnsoundLog::BelowFloor { end, floor });
        }
        Ok(Self { next: start, end, declared: Vec::new() })
    }

    /// Replaces the gaps that the leader declares: compaction has removed their records, or an
    /// operator has skipped damage.
    pub fn declare(&mut self, mut gaps: Vec<Range<Offset>>) {
        gaps.sort_by_key(|gap| gap.start);
        self.declared = gaps;
    }

    /// The offset from which records are wanted next; `None` once the whole log is checked.
    pub fn wants(&self) -> Option<Offset> {
        (self.next < self.end).then_some(self.next)
    }

    /// Passes over the records that the leader has sent from the wanted offset on; no records mean
    /// that there are none up to the end.
    ///
    /// # Errors
    /// The first fault. Nothing has been passed then, and the call may be repeated.
    pub fn pass(&mut self, records: &[u8]) -> Result<(), UnsoundLog> {
        let (mut unread, mut next) = (Batches::new(records), self.next);
        if records.is_empty() {
            self.require_gap(next..self.end)?;
            next = self.end;
        }
        for batch in unread.by_ref() {
            let damaged = |source| UnsoundLog::Damaged { after: next, source };
            let batch = batch.map_err(damaged)?;
            batch.check_checksum().map_err(damaged)?;
            let base_offset = batch.base_offset();
            // The wanted offset may lie within the first batch.
            let is_first = next == self.next && batch.next_offset() > next;
            if base_offset < next && !is_first {
                return Err(UnsoundLog::Misplaced { base_offset, expected: next });
            }
            self.require_gap(next..base_offset)?;
            next = batch.next_offset();
        }
        if !unread.rest().is_empty() {
            return Err(UnsoundLog::CutOff(next));
        }
        self.next = next;
        Ok(())
    }

    /// Fails unless the offsets below the end that are missing are declared as gaps.
    fn require_gap(&self, missing: Range<Offset>) -> Result<(), UnsoundLog> {
        let end = missing.end.min(self.end);
        let reach = |reached: Offset, gap: &Range<Offset>| {
            if gap.start <= reached { reached.max(gap.end) } else { reached }
        };
        let reached = self.declared.iter().fold(missing.start, reach);
        if reached < end { Err(UnsoundLog::Gap(reached..end)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BatchBuilder, BatchSettings, Compressor, HeaderMut};
    use crate::types::Timestamp;

    fn offset(number: i64) -> Offset {
        Offset::new(number)
    }

    /// Batches of two records each at these offsets.
    fn batches(bases: &[i64]) -> Vec<u8> {
        let batch = |base: &i64| {
            let mut builder = BatchBuilder::new();
            for value in [b"a", b"b"] {
                builder.push(Timestamp::from_millis(7), None, Some(value), &[]).unwrap();
            }
            let built = builder.build(&BatchSettings::default(), &mut Compressor::none());
            let mut batch = built.unwrap();
            HeaderMut::of_batch(&mut batch).unwrap().set_base_offset(offset(*base));
            batch
        };
        bases.iter().flat_map(batch).collect()
    }

    fn check(start: i64, end: i64) -> LogCheck {
        LogCheck::new(offset(start), offset(end), offset(0)).unwrap()
    }

    fn gap(passed: Result<(), UnsoundLog>) -> Range<Offset> {
        match passed {
            Err(UnsoundLog::Gap(offsets)) => offsets,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_log_is_sound_if_every_batch_up_to_its_high_watermark_is() {
        let mut log = check(1, 8);
        assert_eq!(log.wants(), Some(offset(1)));
        log.pass(&batches(&[0, 2])).unwrap();
        assert_eq!(log.wants(), Some(offset(4)));
        log.pass(&batches(&[4, 6, 8])).unwrap();
        assert_eq!(log.wants(), None);
        assert_eq!(check(5, 5).wants(), None, "an empty log");
    }

    #[test]
    fn gaps_must_be_declared_by_the_leader() {
        let mut log = check(0, 10);
        let sent = batches(&[4, 6]);
        assert_eq!(gap(log.pass(&sent)), offset(0)..offset(4));
        log.declare(vec![offset(2)..offset(4), offset(0)..offset(3)]);
        log.pass(&sent).unwrap();
        assert_eq!(log.wants(), Some(offset(8)));
        assert_eq!(gap(log.pass(&[])), offset(8)..offset(10));
        log.declare(vec![offset(0)..offset(12)]);
        log.pass(&[]).unwrap();
        assert_eq!(log.wants(), None);
    }

    #[test]
    fn damaged_cut_off_and_misplaced_batches_are_refused_and_pass_nothing() {
        let mut log = check(0, 10);
        let sound = batches(&[0, 2]);
        let mut rotten = sound.clone();
        *rotten.last_mut().unwrap() ^= 1;
        let refused = log.pass(&rotten).unwrap_err();
        let after = offset(2);
        assert!(matches!(refused, UnsoundLog::Damaged { after: at, .. } if at == after));
        let cut_off = log.pass(&sound[..sound.len() - 1]);
        assert!(matches!(cut_off, Err(UnsoundLog::CutOff(at)) if at == after), "{cut_off:?}");
        let misplaced = log.pass(&batches(&[0, 0]));
        assert!(matches!(misplaced, Err(UnsoundLog::Misplaced { .. })), "{misplaced:?}");
        assert_eq!(log.wants(), Some(offset(0)));
        log.pass(&sound).unwrap();
    }

    #[test]
    fn a_leader_that_lacks_committed_records_replaces_nothing() {
        let short = LogCheck::new(offset(0), offset(5), offset(6));
        assert!(matches!(short, Err(UnsoundLog::BelowFloor { .. })), "{short:?}");
        assert!(LogCheck::new(offset(0), offset(6), offset(6)).is_ok());
    }
}
