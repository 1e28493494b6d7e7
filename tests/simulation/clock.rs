//! The clock of a run: the time of tokio's paused runtime, the same on all machines.

use std::time::Duration;

use streamlog::io::Clock;
use streamlog::types::Timestamp;
use tokio::time::Instant;

/// The wall time at which every run begins.
const BEGINNING: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// The time for which the machines have been running then.
const UPTIME: Duration = Duration::from_hours(1);

/// A clock that moves when every task of the runtime waits for it.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    began: Instant,
}

impl VirtualClock {
    /// A clock that begins now. Made and read within the runtime.
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now() }
    }

    /// The time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        BEGINNING.plus(self.elapsed())
    }

    fn monotonic(&self) -> Duration {
        UPTIME + self.elapsed()
    }
}
