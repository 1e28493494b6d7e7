//! The log of one replica, and the part of it that is on disk.

use std::fmt::{self, Debug, Formatter};

/// The number of offsets of a log.
pub const OFFSETS: usize = 3;

/// A record: the leader epoch it was appended in, and a number that no other record has.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Record(u8);

impl Record {
    /// The absence of a record.
    pub const NONE: Self = Self(0);

    /// A record; epochs and numbers begin at 1.
    pub const fn new(epoch: u8, number: u8) -> Self {
        Self(epoch << 4 | number)
    }

    /// The leader epoch in which the record was appended.
    pub const fn epoch(self) -> u8 {
        self.0 >> 4
    }

    /// The number that tells the record from all others.
    pub const fn number(self) -> u8 {
        self.0 & 0xf
    }
}

impl Debug for Record {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.number(), self.epoch())
    }
}

/// A flush that has begun.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FlushUnderWay {
    /// The end that the replica will take for flushed when the flush ends.
    pub claimed: u8,
    /// The end up to which the log will be on disk; lower than `claimed` after a truncation.
    pub covered: u8,
}

/// The log of one replica. Ends are exclusive: the offset of the next record.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Log {
    records: [Record; OFFSETS],
    /// The end of the log.
    pub end: u8,
    /// The end up to which the replica takes the log for flushed.
    pub flushed: u8,
    /// The end that survives a loss of power; below `flushed` only if a rule is off.
    pub durable: u8,
    /// The flush under way, if any.
    pub flush: Option<FlushUnderWay>,
}

impl Log {
    /// The record at an offset, or none at the end of the log and beyond.
    pub fn record(&self, offset: u8) -> Record {
        self.records.get(usize::from(offset)).copied().unwrap_or_default()
    }

    /// The records up to an end.
    pub fn up_to(&self, end: u8) -> &[Record] {
        &self.records[..usize::from(end)]
    }

    /// Returns whether the log has no room for another record.
    pub fn is_full(&self) -> bool {
        usize::from(self.end) == OFFSETS
    }

    /// Appends a record.
    pub fn append(&mut self, record: Record) {
        self.records[usize::from(self.end)] = record;
        self.end += 1;
    }

    /// The epoch of the last record, or 0 in an empty log.
    pub fn last_epoch(&self) -> u8 {
        self.end.checked_sub(1).map_or(0, |last| self.record(last).epoch())
    }

    /// The greatest epoch up to the given one that has records here, and its end offset.
    ///
    /// This is the response to `OffsetForLeaderEpoch`: (0, 0) if there is no such epoch.
    pub fn end_of_epoch(&self, epoch: u8) -> (u8, u8) {
        let end = (0..self.end).take_while(|&offset| self.record(offset).epoch() <= epoch).count();
        let Some(last) = end.checked_sub(1) else { return (0, 0) };
        let end = self.end.min(u8::try_from(end).unwrap_or(u8::MAX));
        (self.records[last].epoch(), end)
    }

    /// Truncates the log to an end. The truncation is on disk at once.
    pub fn truncate(&mut self, end: u8) {
        self.records[usize::from(end)..].fill(Record::NONE);
        self.end = self.end.min(end);
        self.flushed = self.flushed.min(end);
        self.durable = self.durable.min(end);
        if let Some(flush) = &mut self.flush {
            flush.covered = flush.covered.min(end);
        }
    }

    /// Begins a flush of all that was appended.
    pub fn begin_flush(&mut self) {
        self.flush = Some(FlushUnderWay { claimed: self.end, covered: self.end });
    }

    /// Ends the flush under way.
    pub fn finish_flush(&mut self) {
        if let Some(flush) = self.flush.take() {
            self.flushed = self.flushed.max(flush.claimed.min(self.end));
            self.durable = self.durable.max(flush.covered);
        }
    }

    /// Flushes all that was appended, in one step.
    pub fn flush_all(&mut self) {
        self.flushed = self.end;
        self.durable = self.end;
    }

    /// The log as recovery leaves it: flushed up to the end that survived.
    #[must_use]
    pub fn recovered(mut self, end: u8) -> Self {
        self.truncate(end);
        self.flush = None;
        self.flush_all();
        self
    }
}
