//! The source of all time: the wall clock and a monotonic one.

use std::fmt::Debug;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

use crate::types::Timestamp;

/// A source of time.
pub trait Clock: Send + Sync + Debug {
    /// The wall clock. It may jump, so nothing is deleted or expired because of it alone.
    fn now(&self) -> Timestamp;

    /// Time since a fixed moment. It never goes back, and goes on while the machine is suspended.
    fn monotonic(&self) -> Duration;
}

/// The clock that goes on while the machine is suspended.
#[cfg(target_os = "linux")]
const MONOTONIC: ClockId = ClockId::CLOCK_BOOTTIME;
/// The clock that goes on while the machine is suspended, on macOS.
#[cfg(not(target_os = "linux"))]
const MONOTONIC: ClockId = ClockId::CLOCK_MONOTONIC;

/// The system's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        // The call fails only on kernels without this clock, on which the broker does not run.
        clock_gettime(MONOTONIC).map(Duration::from).unwrap_or_default()
    }
}
