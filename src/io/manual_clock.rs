//! A clock under the control of a test.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use crate::io::Clock;
use crate::types::Timestamp;

/// A clock that stands still until it is moved, for tests and simulations.
#[derive(Debug, Default)]
pub struct ManualClock {
    wall_ms: AtomicI64,
    elapsed_ns: AtomicU64,
}

impl ManualClock {
    /// A clock with the wall time `now`.
    pub fn at(now: Timestamp) -> Self {
        Self { wall_ms: AtomicI64::new(now.millis()), elapsed_ns: AtomicU64::new(0) }
    }

    /// Advances both clocks.
    pub fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.wall_ms.fetch_add(millis, Ordering::AcqRel);
        self.elapsed_ns.fetch_add(nanos, Ordering::AcqRel);
    }

    /// Sets the wall clock alone, as an operator or a faulty time server does.
    pub fn set_wall(&self, now: Timestamp) {
        self.wall_ms.store(now.millis(), Ordering::Release);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.wall_ms.load(Ordering::Acquire))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.elapsed_ns.load(Ordering::Acquire))
    }
}
