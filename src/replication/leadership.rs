//! The rules for moving the high watermark. No I/O, no clock.

use crate::types::{BrokerId, Offset};

/// The leader's view of its in-sync replicas during one leader epoch.
#[derive(Clone, Debug)]
pub struct Leadership {
    /// The offset up to which each in-sync replica, this broker included, has stored the log;
    /// sorted by broker id.
    in_sync: Box<[(BrokerId, Offset)]>,
    in_sync_min: usize,
    high_watermark: Offset,
}

impl Leadership {
    /// Starts a leader epoch in which everything below `high_watermark` is replicated on all of
    /// `in_sync`.
    pub fn new(
        in_sync: impl IntoIterator<Item = BrokerId>,
        in_sync_min: usize,
        high_watermark: Offset,
    ) -> Self {
        let in_sync = in_sync.into_iter().map(|broker| (broker, high_watermark));
        let mut in_sync: Box<[_]> = in_sync.collect();
        in_sync.sort_unstable();
        Self { in_sync, in_sync_min, high_watermark }
    }

    /// The first offset that is not yet replicated.
    pub fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// The in-sync replicas, sorted by id.
    pub fn in_sync(&self) -> impl Iterator<Item = BrokerId> {
        self.in_sync.iter().map(|(broker, _)| *broker)
    }

    /// True if enough replicas are in sync for `acks=all`.
    pub fn has_enough_replicas(&self) -> bool {
        self.in_sync.len() >= self.in_sync_min
    }

    /// Records that `replica` has stored everything below `stored` and advances the high watermark
    /// as far as that allows. Returns true if it moved.
    pub fn replica_reached(&mut self, replica: BrokerId, stored: Offset) -> bool {
        let member = self.in_sync.iter_mut().find(|(broker, _)| *broker == replica);
        let Some((_, known)) = member else { return false };
        *known = stored.max(*known);
        if !self.has_enough_replicas() {
            return false;
        }
        let covered = self.in_sync.iter().map(|(_, stored)| *stored).min().unwrap_or_default();
        let moved = covered > self.high_watermark;
        self.high_watermark = covered.max(self.high_watermark);
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(leadership: &mut Leadership, replica: i32, stored: i64) -> i64 {
        leadership.replica_reached(BrokerId(replica), Offset::new(stored));
        leadership.high_watermark().get()
    }

    #[test]
    fn the_watermark_is_the_smallest_stored_offset_and_never_falls() {
        let ids = [1, 2, 3].map(BrokerId);
        let mut leadership = Leadership::new(ids, 2, Offset::new(5));
        assert_eq!(reached(&mut leadership, 1, 9), 5);
        assert_eq!(reached(&mut leadership, 2, 7), 5);
        assert_eq!(reached(&mut leadership, 3, 8), 7);
        assert_eq!(reached(&mut leadership, 2, 6), 7);
    }

    #[test]
    fn an_unknown_replica_or_too_few_replicas_do_not_move_the_watermark() {
        let mut leadership = Leadership::new([BrokerId(1)], 2, Offset::ZERO);
        assert_eq!(reached(&mut leadership, 7, 9), 0);
        assert_eq!(reached(&mut leadership, 1, 9), 0);
        assert!(!leadership.has_enough_replicas());
    }
}
