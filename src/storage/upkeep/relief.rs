//! Maintenance on a full disk.
//!
//! While a part of the reserve is used, removed files are deleted once a second, without waiting
//! for `file.delete.delay.ms`. After that, the reserve is refilled as far as there is space.
//! Retention runs more often than usual, and the operator is notified once a minute.

use std::time::Duration;

/// The time between two attempts to free space.
pub(super) const RELIEF_INTERVAL: Duration = Duration::from_secs(1);

/// The time between two retention passes on a full disk.
const RETENTION_INTERVAL: Duration = Duration::from_secs(10);

/// The time between two log lines about a full disk.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// The times of the last actions on a full disk, by the monotonic clock.
#[derive(Debug, Default)]
pub(super) struct Relief {
    retained_at: Option<Duration>,
    logged_at: Option<Duration>,
    is_logged_full: bool,
}

impl Relief {
    /// Returns true if retention is due on a full disk, and records that it runs now.
    pub(super) fn takes_retention(&mut self, now: Duration) -> bool {
        takes(&mut self.retained_at, RETENTION_INTERVAL, now)
    }

    /// Returns true if a log line about the full disk is due, and records that it is written now.
    pub(super) fn takes_log_line(&mut self, now: Duration) -> bool {
        let takes = takes(&mut self.logged_at, LOG_INTERVAL, now);
        self.is_logged_full |= takes;
        takes
    }

    /// Returns true if the end of the shortage must be logged.
    pub(super) fn ends(&mut self) -> bool {
        std::mem::take(&mut self.is_logged_full)
    }
}

fn takes(last: &mut Option<Duration>, interval: Duration, now: Duration) -> bool {
    let is_due = last.is_none_or(|last| now.saturating_sub(last) >= interval);
    if is_due {
        *last = Some(now);
    }
    is_due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_logged_once_a_minute_and_its_end_once() {
        let mut relief = Relief::default();
        assert!(!relief.ends(), "no full disk was logged");
        let told: Vec<bool> =
            (0..=60).map(|s| relief.takes_log_line(Duration::from_secs(s))).collect();
        assert_eq!(told.iter().filter(|told| **told).count(), 2);
        assert!(told[0] && told[60]);
        assert!(relief.ends());
        assert!(!relief.ends());
    }
}
