//! The clocks of a run: the time of tokio's paused runtime, as the clock of each machine shows it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use streamlog::io::Clock;
use streamlog::types::Timestamp;
use tokio::time::Instant;

/// The wall time at which every run begins.
const BEGINNING: i64 = 1_700_000_000_000;

/// A clock that moves when every task of the runtime waits for it.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    began: Instant,
    /// The time for which the machine has been running at the beginning.
    uptime: Duration,
    /// The parts in a million by which it is too fast.
    drift: i64,
    /// The milliseconds by which the wall clock is wrong.
    wall_error: AtomicI64,
}

impl VirtualClock {
    /// A true clock that begins now. Made and read within the runtime.
    pub(crate) fn begin() -> Self {
        Self::new(Instant::now(), Duration::ZERO, 0)
    }

    /// The clock of a machine that has been running for a while, and `drift` parts in a million too
    /// fast.
    pub(crate) fn of_machine(&self, uptime: Duration, drift: i64) -> Self {
        Self::new(self.began, uptime, drift)
    }

    fn new(began: Instant, uptime: Duration, drift: i64) -> Self {
        Self { began, uptime, drift, wall_error: AtomicI64::new(0) }
    }

    /// The true time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The boot time that this clock shows at a time since the beginning.
    pub(crate) fn boot_time(&self, elapsed: Duration) -> Duration {
        let micros = i64::try_from(elapsed.as_micros()).unwrap();
        let shown = micros + micros * self.drift / 1_000_000;
        self.uptime + Duration::from_micros(shown.cast_unsigned())
    }

    /// Sets the wall clock wrong.
    pub(crate) fn set_wall_error(&self, millis: i64) {
        self.wall_error.store(millis, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let wrong = BEGINNING + self.wall_error.load(Ordering::Relaxed);
        Timestamp::from_millis(wrong).plus(self.elapsed())
    }

    fn monotonic(&self) -> Duration {
        self.boot_time(self.elapsed())
    }
}
