//! When offsets are looked through for expired ones.
//!
//! Retention is counted in wall time, because it has to outlast restarts. Whether the wall clock is
//! right enough for that is for the caller to say, with every step.

use std::time::Duration;

use crate::group::{GroupConfig, Now};

/// The rhythm of expiry.
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

    /// Whether offsets may expire now. True at most once in each interval.
    pub(super) fn is_due(&mut self, now: Now, config: &GroupConfig) -> bool {
        if now.monotonic < self.next_check {
            return false;
        }
        // An interval of zero would never let the coordinator rest.
        let interval = config.offsets_check_interval.max(Duration::from_secs(1));
        self.next_check = now.monotonic.saturating_add(interval);
        now.may_expire
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

    fn at(seconds: u64, may_expire: bool) -> Now {
        let monotonic = Duration::from_secs(seconds);
        Now { wall: Timestamp::from_millis(0).plus(monotonic), monotonic, may_expire }
    }

    #[test]
    fn a_look_is_due_once_in_each_interval() {
        let config = GroupConfig::default();
        let mut expiry = Expiry::starting(at(0, true), &config);
        assert!(!expiry.is_due(at(599, true), &config));
        assert!(expiry.is_due(at(600, true), &config));
        assert!(!expiry.is_due(at(601, true), &config));
        assert!(expiry.is_due(at(1200, true), &config));
    }

    #[test]
    fn nothing_expires_while_the_wall_clock_is_in_doubt() {
        let config = GroupConfig::default();
        let mut expiry = Expiry::starting(at(0, true), &config);
        assert!(!expiry.is_due(at(600, false), &config));
        assert!(!expiry.is_due(at(1200, false), &config));
        assert!(expiry.is_due(at(1800, true), &config));
    }
}
