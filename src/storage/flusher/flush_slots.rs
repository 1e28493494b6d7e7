//! The number of concurrent flushes: the rules, without the threads.
//!
//! Normally it is `flush.threads`, so that all requests that wait for a busy disk share the next
//! flush. But a disk may delay some files and not others. So if a log is due and no flush has ended
//! for a while, another flush may begin, and so on up to a maximum. The extra slots disappear as
//! these flushes end.

use std::time::Duration;

/// The flushes under way, and their maximum number.
#[derive(Debug)]
pub(super) struct FlushSlots {
    usual: usize,
    limit: usize,
    busy: usize,
    /// The time from which on a log has been due and no flush has ended.
    stuck_since: Option<Duration>,
}

/// The action of an idle thread if a log is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotDecision {
    /// Flush the log.
    Take,
    /// Check again after this time.
    CheckAgainAfter(Duration),
    /// Wait until a flush ends.
    Wait,
}

/// The time after which flushes count as stuck. A flush takes well below a millisecond on most
/// disks, and about ten on slow ones.
const STUCK_AFTER: Duration = Duration::from_millis(50);

/// The maximum number of concurrent flushes.
const MOST: usize = 64;

impl FlushSlots {
    /// Allows `usual` concurrent flushes.
    pub(super) fn new(usual: usize) -> Self {
        Self { usual, limit: usual, busy: 0, stuck_since: None }
    }

    /// The action of an idle thread at `now`, if a log is due.
    pub(super) fn decide(&mut self, now: Duration) -> SlotDecision {
        if self.busy < self.limit {
            return SlotDecision::Take;
        }
        if self.limit >= self.usual.max(MOST) {
            return SlotDecision::Wait;
        }
        let since = *self.stuck_since.get_or_insert(now);
        let stuck = now.saturating_sub(since);
        if stuck < STUCK_AFTER {
            return SlotDecision::CheckAgainAfter(STUCK_AFTER.saturating_sub(stuck));
        }
        self.limit += 1;
        self.stuck_since = None;
        SlotDecision::Take
    }

    /// Records that a flush begins.
    pub(super) fn begin(&mut self) {
        self.busy += 1;
        assert!(self.busy <= self.limit, "{} flushes of {} at once", self.busy, self.limit);
    }

    /// Records that a flush has ended. Extra slots remain for the flushes still under way, and the
    /// slot just freed remains too.
    pub(super) fn end(&mut self) {
        assert!(self.busy > 0, "a flush has ended that did not begin");
        self.busy -= 1;
        self.limit = self.limit.min(self.usual.max(self.busy + 1));
        self.stuck_since = None;
    }

    /// Returns true if another flush may begin at once.
    pub(super) fn is_free(&self) -> bool {
        self.busy < self.limit
    }

    /// Returns true if an idle thread is already waiting to check again.
    pub(super) fn is_watched(&self) -> bool {
        self.stuck_since.is_some()
    }

    /// The number of flushes under way.
    pub(super) fn busy(&self) -> usize {
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn busy(usual: usize) -> FlushSlots {
        let mut slots = FlushSlots::new(usual);
        for _ in 0..usual {
            assert_eq!(slots.decide(ms(0)), SlotDecision::Take);
            slots.begin();
        }
        slots
    }

    #[test]
    fn while_flushes_end_there_are_no_more_than_usual() {
        let mut slots = busy(4);
        for round in 0..100 {
            let now = ms(40 * round);
            assert_eq!(slots.decide(now), SlotDecision::CheckAgainAfter(STUCK_AFTER));
            slots.end();
            assert_eq!(slots.decide(now), SlotDecision::Take);
            slots.begin();
        }
    }

    #[test]
    fn one_more_begins_for_each_time_that_all_are_stuck() {
        let mut slots = busy(4);
        assert_eq!(slots.decide(ms(0)), SlotDecision::CheckAgainAfter(ms(50)));
        assert_eq!(slots.decide(ms(49)), SlotDecision::CheckAgainAfter(ms(1)));
        assert_eq!(slots.decide(ms(50)), SlotDecision::Take);
        slots.begin();
        assert_eq!(slots.decide(ms(50)), SlotDecision::CheckAgainAfter(ms(50)));
        // The fifth flush ends while the other four are stuck: the next flush need not wait.
        slots.end();
        assert_eq!(slots.decide(ms(60)), SlotDecision::Take);
        slots.begin();
        for _ in 0..5 {
            slots.end();
        }
        assert_eq!(slots.limit, 4);
    }

    #[test]
    fn the_number_of_concurrent_flushes_is_bounded() {
        let mut slots = busy(4);
        let mut now = ms(0);
        while slots.busy() < MOST {
            slots.decide(now);
            now += STUCK_AFTER;
            assert_eq!(slots.decide(now), SlotDecision::Take);
            slots.begin();
        }
        assert_eq!(slots.decide(now + ms(1000)), SlotDecision::Wait);
    }
}
