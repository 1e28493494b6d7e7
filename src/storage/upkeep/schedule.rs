//! The maintenance schedule: its rules, without the thread.

use std::time::Duration;

use crate::config::{ByteSize, settings};
use crate::storage::upkeep::relief::RELIEF_INTERVAL;
use crate::storage::{CompactionOptions, ScrubOptions};

settings! {
    /// The intervals and limits of maintenance.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct UpkeepOptions {
        /// Milliseconds between checks for segments that have exceeded their retention.
        #[setting("log.retention.check.interval.ms", Long in 1..)]
        retention_interval: Duration = Duration::from_mins(5),
        /// Milliseconds for which nothing is removed by age after the wall clock has jumped, or
        /// differs by more than a day from the end of the last run.
        #[setting("log.retention.grace.ms", Long)]
        retention_grace: Duration = Duration::from_hours(1),
        /// Bytes of all logs beyond which the oldest segments are removed; -1 for no limit.
        // Segments are removed even if they are within the retention settings of their topics.
        #[setting("data.dir.max.bytes", Long in 1 << 20..=1 << 60)]
        size_max: Option<ByteSize> = None,
    }
    groups {
        /// The options of compaction.
        compaction: CompactionOptions,
        /// The options of the scrubber.
        scrub: ScrubOptions,
    }
    others {
        /// The longest time between a flush and the checkpoint that follows it.
        checkpoint_delay: Duration = Duration::from_secs(1),
        /// The number of flushed bytes that makes a checkpoint due at once.
        checkpoint_size: ByteSize = ByteSize(64 << 20),
    }
}

/// The delay of the first retention if the clock is untrusted: by then the topics' settings are
/// known, and the log line can state the segments and bytes at stake.
const FIRST_RETENTION_DELAY: Duration = Duration::from_secs(10);

/// The step that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Checkpoint,
    Retention,
    Removal,
    Relief,
    WaitUntil(Duration),
}

/// The due times of all steps.
#[derive(Debug)]
pub(super) struct Schedule {
    options: UpkeepOptions,
    retention_at: Duration,
    /// `None` unless something was flushed since the last checkpoint.
    checkpoint_at: Option<Duration>,
    /// `None` unless removed files are waiting for their deletion.
    removal_at: Option<Duration>,
    /// `None` unless the disk is full.
    relief_at: Option<Duration>,
    /// The earliest time of the next relief step, however many producers find the disk full.
    relief_not_before: Duration,
    flushed: u64,
}

impl Schedule {
    /// A schedule that begins at `now`, by the monotonic clock.
    pub(super) fn new(options: UpkeepOptions, now: Duration) -> Self {
        let retention_at = now.saturating_add(options.retention_interval);
        Self {
            options,
            retention_at,
            checkpoint_at: None,
            removal_at: Some(now),
            relief_at: None,
            relief_not_before: now,
            flushed: 0,
        }
    }

    /// Makes retention due soon, rather than after an interval.
    pub(super) fn hurry_retention(&mut self, now: Duration) {
        self.retention_at = self.retention_at.min(now.saturating_add(FIRST_RETENTION_DELAY));
    }

    /// Records a flush. Returns true if a step is due earlier now.
    pub(super) fn flushed(&mut self, bytes: u64, now: Duration) -> bool {
        self.flushed += bytes;
        let due = if self.flushed >= self.options.checkpoint_size.0 {
            now
        } else {
            now.saturating_add(self.options.checkpoint_delay)
        };
        if self.checkpoint_at.is_some_and(|at| at <= due) {
            return false;
        }
        self.checkpoint_at = Some(due);
        true
    }

    /// Schedules the deletion of removed files at `due`. Returns true if that is earlier than
    /// before.
    pub(super) fn remove_at(&mut self, due: Duration) -> bool {
        let is_earlier = self.removal_at.is_none_or(|at| due < at);
        if is_earlier {
            self.removal_at = Some(due);
        }
        is_earlier
    }

    /// Schedules freeing of space at `due`, but at least a second after the last time. Returns true
    /// if that is earlier than before.
    pub(super) fn relieve_at(&mut self, due: Duration) -> bool {
        let due = due.max(self.relief_not_before);
        let is_earlier = self.relief_at.is_none_or(|at| due < at);
        if is_earlier {
            self.relief_at = Some(due);
        }
        is_earlier
    }

    /// The next step. A step that is due counts as done from now on.
    pub(super) fn next(&mut self, now: Duration) -> Step {
        if self.checkpoint_at.is_some_and(|at| at <= now) {
            self.checkpoint_at = None;
            self.flushed = 0;
            Step::Checkpoint
        } else if self.removal_at.is_some_and(|at| at <= now) {
            self.removal_at = None;
            Step::Removal
        } else if self.relief_at.is_some_and(|at| at <= now) {
            self.relief_at = None;
            self.relief_not_before = now.saturating_add(RELIEF_INTERVAL);
            Step::Relief
        } else if self.retention_at <= now {
            self.retention_at = now.saturating_add(self.options.retention_interval);
            Step::Retention
        } else {
            let others =
                [self.checkpoint_at, self.removal_at, self.relief_at].into_iter().flatten();
            Step::WaitUntil(others.fold(self.retention_at, Duration::min))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn schedule() -> Schedule {
        let mut schedule = Schedule::new(UpkeepOptions::default(), s(0));
        assert_eq!(schedule.next(s(0)), Step::Removal, "for files that an earlier run has left");
        schedule
    }

    #[test]
    fn an_idle_directory_wakes_for_retention_only() {
        let mut schedule = schedule();
        assert_eq!(schedule.next(s(0)), Step::WaitUntil(s(300)));
        assert_eq!(schedule.next(s(300)), Step::Retention);
        assert_eq!(schedule.next(s(300)), Step::WaitUntil(s(600)));
    }

    #[test]
    fn a_flush_is_recorded_within_a_second_and_many_bytes_at_once() {
        let mut schedule = schedule();
        assert!(schedule.flushed(1, s(10)));
        assert!(!schedule.flushed(1, s(10)), "one wake-up for both");
        assert_eq!(schedule.next(s(10)), Step::WaitUntil(s(11)));
        assert_eq!(schedule.next(s(11)), Step::Checkpoint);
        assert_eq!(schedule.next(s(11)), Step::WaitUntil(s(300)));
        assert!(schedule.flushed(1, s(20)));
        assert!(schedule.flushed(64 << 20, s(20)));
        assert_eq!(schedule.next(s(20)), Step::Checkpoint);
    }

    #[test]
    fn removals_are_due_at_their_time() {
        let mut schedule = schedule();
        assert!(schedule.remove_at(s(60)));
        assert!(!schedule.remove_at(s(70)));
        assert_eq!(schedule.next(s(59)), Step::WaitUntil(s(60)));
        assert_eq!(schedule.next(s(60)), Step::Removal);
        assert_eq!(schedule.next(s(60)), Step::WaitUntil(s(300)));
    }

    #[test]
    fn freeing_space_is_due_when_requested_and_once() {
        let mut schedule = schedule();
        assert!(schedule.relieve_at(s(5)));
        assert!(!schedule.relieve_at(s(6)));
        assert_eq!(schedule.next(s(4)), Step::WaitUntil(s(5)));
        assert_eq!(schedule.next(s(5)), Step::Relief);
        assert!(schedule.relieve_at(s(5)), "the disk is still full");
        assert_eq!(schedule.next(s(5)), Step::WaitUntil(s(6)));
        assert_eq!(schedule.next(s(6)), Step::Relief);
        assert_eq!(schedule.next(s(6)), Step::WaitUntil(s(300)));
    }
}
