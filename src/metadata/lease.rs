//! The lease under which a broker answers as the leader of replicated partitions (rule R6 in
//! docs/replication.md).
//!
//! Another broker can lead in its place only after the store has ended its session, which takes the
//! session's whole time-out without a sign of life. The lease lasts for two thirds of that time
//! after a request by which the store has confirmed the registration. The time is counted from the
//! sending of the request, since the answer may have been under way for long. The lease's clock
//! continues to run while the machine sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::io::Clock;

/// The end of a lease that no store can end.
const UNLIMITED: u64 = u64::MAX;
/// The end of a lease that is never renewed.
const ENDED: u64 = 0;

/// The lease of one registration. A broker holds it until it runs out, and may renew it until the
/// registration has ended.
#[derive(Debug)]
pub struct Lease {
    clock: Arc<dyn Clock>,
    /// Nanoseconds on the monotonic clock, or one of the constants.
    until: AtomicU64,
}

impl Lease {
    /// The lease of a registration in a store of this process, whose sessions end with the process.
    pub fn unlimited(clock: Arc<dyn Clock>) -> Self {
        Self { clock, until: AtomicU64::new(UNLIMITED) }
    }

    /// The lease of a registration that has ended.
    pub fn ended(clock: Arc<dyn Clock>) -> Self {
        Self { clock, until: AtomicU64::new(ENDED) }
    }

    /// The lease of a registration that was requested at `sent`, in a session of this time-out.
    pub fn begin(clock: Arc<dyn Clock>, sent: Duration, session_timeout: Duration) -> Self {
        Self { clock, until: AtomicU64::new(end_of(sent, session_timeout)) }
    }

    /// Returns true if no other broker can lead in place of this one yet.
    pub fn is_held(&self) -> bool {
        match self.until.load(Ordering::Acquire) {
            UNLIMITED => true,
            until => in_nanos(self.clock.monotonic()) < until,
        }
    }

    /// Returns true if the lease has ended for good, and not only run out.
    pub fn has_ended(&self) -> bool {
        self.until.load(Ordering::Acquire) == ENDED
    }

    /// The current time on the clock by which the lease runs out.
    pub fn now(&self) -> Duration {
        self.clock.monotonic()
    }

    /// Renews the lease: the store has confirmed the registration in answer to a request sent at
    /// `sent`. A lease that was ended stays ended.
    pub(super) fn renew(&self, sent: Duration, session_timeout: Duration) {
        // The lease may become shorter: another server may grant the session less time.
        let renewed = |until| (until != ENDED).then(|| end_of(sent, session_timeout));
        // Fails only if the lease was ended.
        let _ = self.until.fetch_update(Ordering::AcqRel, Ordering::Acquire, renewed);
    }

    /// Ends the lease for good: the registration has ended, or is about to.
    pub(super) fn end(&self) {
        self.until.store(ENDED, Ordering::Release);
    }
}

/// The end of the lease. A third of the time-out remains as a margin: the store's clock may be
/// faster than the broker's, and the store may count the session from a sign of life before the
/// request.
fn end_of(sent: Duration, session_timeout: Duration) -> u64 {
    in_nanos(sent.saturating_add(session_timeout * 2 / 3))
}

fn in_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(UNLIMITED)
}
