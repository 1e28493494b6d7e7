//! Whether the wall clock can be believed before anything is deleted because of it.
//!
//! Between two looks the wall clock must have gone on as far as the monotonic one, give or take
//! five minutes. After a larger step nothing is deleted by age for an hour: time for a person to
//! notice, and for a time server to mend it.

use std::time::Duration;

use crate::io::Clock;
use crate::types::Timestamp;

const STEP_MAX: Duration = Duration::from_mins(5);
const DOUBT: Duration = Duration::from_hours(1);

/// Compares the two clocks from look to look.
#[derive(Debug)]
pub(super) struct ClockWatch {
    last_wall: Timestamp,
    last_monotonic: Duration,
    doubted_until: Option<Duration>,
}

impl ClockWatch {
    pub(super) fn new(clock: &dyn Clock) -> Self {
        let (last_wall, last_monotonic) = (clock.now(), clock.monotonic());
        Self { last_wall, last_monotonic, doubted_until: None }
    }

    /// The wall clock's time, unless it is in doubt.
    pub(super) fn look(&mut self, clock: &dyn Clock) -> Option<Timestamp> {
        let (wall, monotonic) = (clock.now(), clock.monotonic());
        let elapsed = monotonic.saturating_sub(self.last_monotonic);
        let expected = self.last_wall.plus(elapsed);
        let step = Duration::from_millis(wall.millis().abs_diff(expected.millis()));
        (self.last_wall, self.last_monotonic) = (wall, monotonic);
        if step > STEP_MAX {
            tracing::warn!(
                ?step,
                "the wall clock has jumped; nothing is deleted by age for a while"
            );
            self.doubted_until = Some(monotonic.saturating_add(DOUBT));
        }
        let is_doubted = self.doubted_until.is_some_and(|until| monotonic < until);
        (!is_doubted).then_some(wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::ManualClock;

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn time_that_passes_is_believed() {
        let clock = ManualClock::at(Timestamp::from_millis(1));
        let mut watch = ClockWatch::new(&clock);
        for _ in 0..3 {
            clock.advance(DAY);
            assert_eq!(watch.look(&clock), Some(clock.now()));
        }
        clock.set_wall(clock.now().plus(STEP_MAX));
        assert!(watch.look(&clock).is_some(), "a small step");
    }

    #[test]
    fn a_jump_is_doubted_for_an_hour() {
        let clock = ManualClock::at(Timestamp::from_millis(1));
        let start = Timestamp::from_millis(1_700_000_000_000);
        for jumped in [start.plus(DAY), start.minus(DAY)] {
            clock.set_wall(start);
            let mut watch = ClockWatch::new(&clock);
            clock.set_wall(jumped);
            assert_eq!(watch.look(&clock), None);
            clock.advance(DOUBT.saturating_sub(Duration::from_millis(1)));
            assert_eq!(watch.look(&clock), None);
            clock.advance(Duration::from_millis(1));
            assert_eq!(watch.look(&clock), Some(clock.now()));
        }
    }
}
