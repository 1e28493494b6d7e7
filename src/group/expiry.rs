//! When offsets are looked through for expired ones, and whether the wall clock may be believed.
//!
//! Retention is counted in wall time, because it has to outlast restarts. A wall clock that moves
//! otherwise than the monotonic one has been set: nothing expires until an hour has confirmed it.

use std::time::Duration;

use crate::group::{GroupConfig, Now};

/// How far the clocks may drift apart between two looks.
const DRIFT_MAX: Duration = Duration::from_mins(5);

/// How long a jump of the wall clock stops expiry.
const CONFIRMATION: Duration = Duration::from_hours(1);

/// The rhythm of expiry.
pub(super) struct Expiry {
    last: Now,
    next_check: Duration,
    distrusted_until: Duration,
}

impl Expiry {
    pub(super) fn starting(now: Now, config: &GroupConfig) -> Self {
        Self {
            last: now,
            next_check: now.monotonic.saturating_add(config.offsets_check_interval),
            distrusted_until: Duration::ZERO,
        }
    }

    pub(super) fn next_check(&self) -> Duration {
        self.next_check
    }

    /// Whether offsets may expire now. True at most once in each interval.
    pub(super) fn is_due(&mut self, now: Now, config: &GroupConfig) -> bool {
        if now.monotonic < self.next_check {
            return false;
        }
        let elapsed = now.monotonic.saturating_sub(self.last.monotonic);
        let drift = self.last.wall.plus(elapsed).millis().abs_diff(now.wall.millis());
        if Duration::from_millis(drift) > DRIFT_MAX {
            self.distrusted_until = now.monotonic.saturating_add(CONFIRMATION);
        }
        self.last = now;
        // An interval of zero would never let the coordinator rest.
        let interval = config.offsets_check_interval.max(Duration::from_secs(1));
        self.next_check = now.monotonic.saturating_add(interval);
        now.monotonic >= self.distrusted_until
    }

    /// More was due than one look may do: the next one is soon.
    pub(super) fn hurry(&mut self, now: Now) {
        self.next_check = now.monotonic.saturating_add(Duration::from_secs(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Timestamp;

    fn at(wall_secs: i64, monotonic_secs: u64) -> Now {
        Now {
            wall: Timestamp::from_millis(wall_secs * 1000),
            monotonic: Duration::from_secs(monotonic_secs),
        }
    }

    #[test]
    fn a_look_is_due_once_in_each_interval() {
        let config = GroupConfig::default();
        let mut expiry = Expiry::starting(at(0, 0), &config);
        assert!(!expiry.is_due(at(599, 599), &config));
        assert!(expiry.is_due(at(600, 600), &config));
        assert!(!expiry.is_due(at(601, 601), &config));
        assert!(expiry.is_due(at(1200, 1200), &config));
    }

    #[test]
    fn a_wall_clock_that_jumped_is_believed_after_an_hour() {
        let config = GroupConfig::default();
        let week = 7 * 24 * 3600;
        let mut expiry = Expiry::starting(at(0, 0), &config);
        assert!(!expiry.is_due(at(week, 600), &config));
        assert!(!expiry.is_due(at(week + 3000, 3600), &config));
        assert!(expiry.is_due(at(week + 3600, 4200), &config));
    }
}
