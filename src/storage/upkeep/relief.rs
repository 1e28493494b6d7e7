//! What upkeep does about a full disk.
//!
//! Once a second, for as long as a part of the reserve is used: what was deleted goes at once, not
//! after `file.delete.delay.ms`, and the reserve is made again as far as there is room. Retention
//! passes more often than usual, and a person is told once a minute.

use std::time::Duration;

/// So long after a look for room comes the next.
pub(super) const RELIEF_INTERVAL: Duration = Duration::from_secs(1);

/// So long after a pass of retention on a full disk comes the next.
const RETENTION_INTERVAL: Duration = Duration::from_secs(10);

/// So long after a word to a person comes the next.
const WORD_INTERVAL: Duration = Duration::from_mins(1);

/// When what was last done about a full disk, by the monotonic clock.
#[derive(Debug, Default)]
pub(super) struct Relief {
    retained_at: Option<Duration>,
    told_at: Option<Duration>,
    is_told: bool,
}

impl Relief {
    /// Whether retention is to pass now. It counts as done then.
    pub(super) fn takes_retention(&mut self, now: Duration) -> bool {
        takes(&mut self.retained_at, RETENTION_INTERVAL, now)
    }

    /// Whether a person is to be told now that the disk is full. It counts as done then.
    pub(super) fn takes_word(&mut self, now: Duration) -> bool {
        let takes = takes(&mut self.told_at, WORD_INTERVAL, now);
        self.is_told |= takes;
        takes
    }

    /// Whether a person is to be told that there is room again.
    pub(super) fn ends(&mut self) -> bool {
        std::mem::take(&mut self.is_told)
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
    fn a_full_disk_is_told_once_a_minute_and_its_end_once() {
        let mut relief = Relief::default();
        assert!(!relief.ends(), "nobody was told of a full disk");
        let told: Vec<bool> = (0..=60).map(|s| relief.takes_word(Duration::from_secs(s))).collect();
        assert_eq!(told.iter().filter(|told| **told).count(), 2);
        assert!(told[0] && told[60]);
        assert!(relief.ends());
        assert!(!relief.ends());
    }
}
