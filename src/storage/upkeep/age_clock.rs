//! The clock for removal by age, which segments, committed offsets, producer ids and tombstones
//! share.
//!
//! Age is measured in wall time, because it must survive restarts, and wall clocks are set wrong:
//! by a dead battery, an operator, a restored machine. So the wall clock is trusted only while it
//! agrees with its earlier readings. While the broker runs, it may deviate by five minutes from the
//! time that the monotonic clock leads to expect. At a start it may deviate by a day from the time
//! last recorded, since the length of the downtime is not known.
//!
//! Otherwise nothing is removed by age for `log.retention.grace.ms`. If the clock returns to the
//! expected time within that period, it is trusted again at once; if not, it is trusted when the
//! period ends. If it is set once more to a wrong time, the period begins again. An untrusted time
//! is not recorded, so that another start does not come to trust it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::io::Clock;
use crate::types::Timestamp;

/// The most that the two clocks may drift apart between two readings.
const STEP_MAX: Duration = Duration::from_mins(5);

/// The most that the wall clock may differ from the last recorded time when the broker starts.
const ABSENCE_MAX: Duration = Duration::from_hours(24);

/// The wall clock, if removal by age can trust it.
#[derive(Debug)]
pub struct AgeClock {
    clock: Arc<dyn Clock>,
    grace: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    trusted: Moment,
    /// The most that the wall clock may deviate from the time extrapolated from `trusted`.
    tolerance: Duration,
    distrust: Option<Distrust>,
}

/// A reading of both clocks.
#[derive(Clone, Copy, Debug)]
struct Moment {
    wall: Timestamp,
    monotonic: Duration,
}

/// A period in which the wall clock is not trusted.
#[derive(Clone, Copy, Debug)]
struct Distrust {
    began: Moment,
    /// The time by the monotonic clock from which on the wall clock is trusted again.
    until: Duration,
}

impl Moment {
    fn of(clock: &dyn Clock) -> Self {
        Self { wall: clock.now(), monotonic: clock.monotonic() }
    }

    /// The difference between the wall clock at `now` and the time extrapolated from this reading.
    fn deviation(&self, now: Self) -> Duration {
        let expected = self.wall.plus(now.monotonic.saturating_sub(self.monotonic));
        Duration::from_millis(expected.millis().abs_diff(now.wall.millis()))
    }
}

impl AgeClock {
    /// The clock at a start of the broker; `last_known` is the last time that an earlier run
    /// recorded.
    pub(super) fn start(
        clock: Arc<dyn Clock>,
        grace: Duration,
        last_known: Option<Timestamp>,
    ) -> Self {
        let now = Moment::of(&*clock);
        let wall = last_known.unwrap_or(now.wall);
        let trusted = Moment { wall, ..now };
        let state = State { trusted, tolerance: ABSENCE_MAX, distrust: None };
        let age_clock = Self { clock, grace, state: Mutex::new(state) };
        age_clock.now();
        age_clock
    }

    /// The time for removal by age; `None` while nothing may be removed.
    pub fn now(&self) -> Option<Timestamp> {
        let now = Moment::of(&*self.clock);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let deviation = state.trusted.deviation(now);
        if deviation <= state.tolerance {
            if state.distrust.take().is_some() {
                tracing::info!("the wall clock is correct again: removal by age continues");
            }
        } else {
            let known = state.distrust.filter(|distrust| distrust.began.deviation(now) <= STEP_MAX);
            let distrust = known.unwrap_or_else(|| self.begin_distrust(now, deviation, &state));
            state.distrust = Some(distrust);
            if now.monotonic < distrust.until {
                return None;
            }
            state.distrust = None;
            tracing::warn!(
                "the wall clock was not corrected within {:?}: data too old by it is removed",
                self.grace
            );
        }
        state.trusted = now;
        state.tolerance = STEP_MAX;
        Some(now.wall)
    }

    /// The untrusted wall time, and the time until it is trusted; `None` if it is trusted now.
    pub(super) fn untrusted(&self) -> Option<(Timestamp, Duration)> {
        let now = Moment::of(&*self.clock);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.distrust.map(|distrust| (now.wall, distrust.until.saturating_sub(now.monotonic)))
    }

    fn begin_distrust(&self, now: Moment, deviation: Duration, state: &State) -> Distrust {
        let side = if now.wall > state.trusted.wall { "ahead of" } else { "behind" };
        // The message should show days; milliseconds would hide them.
        let deviation = Duration::from_secs(deviation.as_secs());
        tracing::warn!(
            "the wall clock is {deviation:?} {side} the time that was last known to be right: \
             segments, committed offsets, producer ids and tombstones that are too old by it are \
             removed in {:?} (log.retention.grace.ms); set it right until then to keep them",
            self.grace
        );
        Distrust { began: now, until: now.monotonic.saturating_add(self.grace) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::ManualClock;

    const DAY: Duration = Duration::from_hours(24);
    const GRACE: Duration = Duration::from_hours(1);
    const MS: Duration = Duration::from_millis(1);
    const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn started(last_known: Option<Timestamp>, wall: Timestamp) -> (AgeClock, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(wall));
        (AgeClock::start(Arc::clone(&clock) as _, GRACE, last_known), clock)
    }

    #[test]
    fn passing_time_is_trusted() {
        let (ages, clock) = started(None, START);
        for _ in 0..3 {
            clock.advance(DAY);
            assert_eq!(ages.now(), Some(clock.now()));
        }
        clock.set_wall(clock.now().plus(STEP_MAX));
        assert!(ages.now().is_some(), "a small step");
    }

    #[test]
    fn a_jump_is_not_trusted_for_an_hour() {
        for jumped in [START.plus(DAY), START.minus(DAY)] {
            let (ages, clock) = started(None, START);
            assert!(ages.now().is_some());
            clock.set_wall(jumped);
            assert_eq!(ages.now(), None);
            clock.advance(GRACE.saturating_sub(MS));
            assert_eq!((ages.now(), ages.untrusted()), (None, Some((clock.now(), MS))));
            clock.advance(MS);
            assert_eq!((ages.now(), ages.untrusted()), (Some(clock.now()), None));
            clock.advance(DAY);
            assert_eq!(ages.now(), Some(clock.now()), "it stays trusted");
        }
    }

    #[test]
    fn a_corrected_clock_is_trusted_at_once_and_another_jump_starts_a_new_wait() {
        let (ages, clock) = started(None, START);
        clock.set_wall(START.plus(9 * DAY));
        assert_eq!(ages.now(), None);
        clock.advance(GRACE / 2);
        clock.set_wall(START.plus(GRACE / 2));
        assert_eq!(ages.now(), Some(clock.now()));

        clock.set_wall(START.plus(9 * DAY));
        assert_eq!(ages.now(), None);
        clock.advance(GRACE.saturating_sub(MS));
        clock.set_wall(START.plus(365 * DAY));
        assert_eq!(ages.now(), None);
        clock.advance(GRACE.saturating_sub(MS));
        assert_eq!(ages.now(), None);
        clock.advance(MS);
        assert_eq!(ages.now(), Some(clock.now()));
    }

    #[test]
    fn a_start_trusts_a_day_of_downtime_and_no_more() {
        for (wall, is_believed) in [
            (START, true),
            (START.plus(DAY), true),
            (START.plus(DAY + MS), false),
            (START.minus(DAY + MS), false),
        ] {
            let (ages, clock) = started(Some(START), wall);
            assert_eq!(ages.now().is_some(), is_believed, "{wall:?}");
            clock.advance(GRACE);
            assert_eq!(ages.now(), Some(clock.now()));
        }
    }
}
