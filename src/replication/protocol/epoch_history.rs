//! The leader epochs of a log's records, by which two logs find the offset where they diverge.

use crate::storage::EpochStart;
use crate::types::{LeaderEpoch, Offset};

/// The epochs of the records of one log, and its end.
#[derive(Clone, Copy, Debug)]
pub struct EpochHistory<'a> {
    entries: &'a [EpochStart],
    end: Offset,
}

impl<'a> EpochHistory<'a> {
    /// The history of a log that ends at `end`. Entries at the end or beyond it belong to leaders
    /// that appended nothing, and are left out (KAFKA-10706).
    pub fn new(entries: &'a [EpochStart], end: Offset) -> Self {
        let with_records = entries.partition_point(|entry| entry.start < end);
        Self { entries: &entries[..with_records], end }
    }

    /// The log end offset.
    pub fn end(&self) -> Offset {
        self.end
    }

    /// The epoch of the last record; `NONE` for an empty log.
    pub fn last_epoch(&self) -> LeaderEpoch {
        self.entries.last().map_or(LeaderEpoch::NONE, |entry| entry.epoch)
    }

    /// The last epoch of this log that is not above `epoch`, and the offset at which it ends. An
    /// epoch older than all in the log ends where the log's first one begins.
    pub fn end_of(&self, epoch: LeaderEpoch) -> (LeaderEpoch, Offset) {
        let next = self.entries.partition_point(|entry| entry.epoch <= epoch);
        let end = self.entries.get(next).map_or(self.end, |entry| entry.start);
        let floor = next.checked_sub(1).map_or(epoch, |index| self.entries[index].epoch);
        (floor, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry((epoch, start): (i32, i64)) -> EpochStart {
        EpochStart { epoch: LeaderEpoch(epoch), start: Offset::new(start) }
    }

    fn end_of(entries: &[EpochStart], end: i64, epoch: i32) -> (i32, i64) {
        let (epoch, end) = EpochHistory::new(entries, Offset::new(end)).end_of(LeaderEpoch(epoch));
        (epoch.0, end.get())
    }

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let entries = [(1, 0), (3, 4), (4, 7)].map(entry);
        assert_eq!(end_of(&entries, 9, 1), (1, 4));
        assert_eq!(end_of(&entries, 9, 2), (1, 4));
        assert_eq!(end_of(&entries, 9, 3), (3, 7));
        assert_eq!(end_of(&entries, 9, 4), (4, 9));
        assert_eq!(end_of(&entries, 9, 8), (4, 9));
    }

    #[test]
    fn an_epoch_older_than_all_ends_where_the_log_begins() {
        let entries = [(3, 5)].map(entry);
        assert_eq!(end_of(&entries, 9, 1), (1, 5));
        assert_eq!(end_of(&[], 0, 1), (1, 0));
    }

    #[test]
    fn a_leader_that_appended_nothing_leaves_no_epoch() {
        let entries = [(1, 0), (2, 4), (3, 4)].map(entry);
        let history = EpochHistory::new(&entries[..2], Offset::new(4));
        assert_eq!(history.last_epoch(), LeaderEpoch(1));
        assert_eq!(history.end_of(LeaderEpoch(2)), (LeaderEpoch(1), Offset::new(4)));
        assert_eq!(EpochHistory::new(&[], Offset::ZERO).last_epoch(), LeaderEpoch::NONE);
    }
}
