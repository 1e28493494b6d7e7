//! Where all time comes from.

use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

use crate::types::Timestamp;

/// A source of time.
pub trait Clock: Send + Sync + Debug {
    /// The wall clock. It may jump; nothing is deleted or expired on its word alone.
    fn now(&self) -> Timestamp;

    /// Time since some fixed moment, that never goes back and counts time asleep (BOOTTIME).
    fn monotonic(&self) -> Duration;
}

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
        // Without CLOCK_BOOTTIME the kernel is too old to run on; its absence shows at once.
        clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or_default()
    }
}

/// A clock that stands still until it is moved, for tests and simulations.
#[derive(Debug, Default)]
pub struct ManualClock {
    wall_ms: AtomicI64,
    elapsed_ns: AtomicU64,
}

impl ManualClock {
    /// A clock whose wall time is `now`.
    pub fn at(now: Timestamp) -> Self {
        Self { wall_ms: AtomicI64::new(now.millis()), elapsed_ns: AtomicU64::new(0) }
    }

    /// Lets time pass on both clocks.
    pub fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.wall_ms.fetch_add(millis, Ordering::AcqRel);
        self.elapsed_ns.fetch_add(nanos, Ordering::AcqRel);
    }

    /// Sets the wall clock alone, as an operator or a bad time server does.
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
