//! The schedule of checks for expired offsets.
//!
//! Retention is measured in wall-clock time, because it has to span restarts. The caller says with
//! every step whether the wall clock can be trusted for that.

use std::time::Duration;

use crate::group::{GroupConfig, Now};

/// The schedule of expiry checks.
pub(super) struct Expiry {
    next_check: Duration,
}

impl Expiry {
    pub(super) fn starting(now: Now, config: &GroupConfig) -> Self {
        Self { next_check: now.monotonic.saturating_add(config.offsets_check_interval) }
    }

    pub(super) fn next_check(&self) -> Duration {
        self.next_check
    }

    /// True if offsets may expire now, at most once per interval.
    pub(super) fn is_due(&mut self, now: Now, config: &GroupConfig) -> bool {
        if now.monotonic < self.next_check {
            return false;
        }
        // An interval of zero would make the coordinator busy without end.
        let interval = config.offsets_check_interval.max(Duration::from_secs(1));
        self.next_check = now.monotonic.saturating_add(interval);
        now.may_expire
    }

    /// Schedules the next check soon, because this one reached its limit.
    pub(super) fn check_soon(&mut self, now: Now) {
        self.next_check = now.monotonic.saturating_add(Duration::from_secs(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Timestamp;

    fn at(seconds: u64, may_expire: bool) -> Now {
        let monotonic = Duration::from_secs(seconds);
        Now { wall: Timestamp::from_millis(0).plus(monotonic), monotonic, may_expire }
    }

    #[test]
    fn a_check_is_due_once_in_each_interval() {
        let config = GroupConfig::default();
        let mut expiry = Expiry::starting(at(0, true), &config);
        assert!(!expiry.is_due(at(599, true), &config));
        assert!(expiry.is_due(at(600, true), &config));
        assert!(!expiry.is_due(at(601, true), &config));
        assert!(expiry.is_due(at(1200, true), &config));
    }

    #[test]
    fn nothing_expires_while_the_wall_clock_cannot_be_trusted() {
        let config = GroupConfig::default();
        let mut expiry = Expiry::starting(at(0, true), &config);
        assert!(!expiry.is_due(at(600, false), &config));
        assert!(!expiry.is_due(at(1200, false), &config));
        assert!(expiry.is_due(at(1800, true), &config));
    }
}
