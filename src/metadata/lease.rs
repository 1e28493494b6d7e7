//! The lease under which a broker answers as the leader of replicated partitions (R6a).
//!
//! Another broker can lead in its place only after the store has ended its session, which takes the
//! session's whole time-out without a sign of life. The lease lasts for two thirds of that time
//! after a request by which the store has confirmed the registration. It is counted from the moment
//! when the request was sent, since its answer may have been under way for long, and on a clock
//! that goes on while the machine sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::io::Clock;

/// The end of a lease that no store can end.
const UNLIMITED: u64 = u64::MAX;
/// The end of a lease that is never renewed.
const ENDED: u64 = 0;

/// The lease of one registration. It is held until it runs out, and may be renewed until the
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

    /// Renews the lease: the store has confirmed the registration in answer to a request of this
    /// moment. A lease that was ended stays so.
    pub(super) fn renew(&self, sent: Duration, session_timeout: Duration) {
        // It may become shorter: another server may grant the session less time.
        let renewed = |until| (until != ENDED).then(|| end_of(sent, session_timeout));
        // Fails only if it was ended.
        let _ = self.until.fetch_update(Ordering::AcqRel, Ordering::Acquire, renewed);
    }

    /// Ends the lease for good: the store has ended the session.
    pub(super) fn end(&self) {
        self.until.store(ENDED, Ordering::Release);
    }
}

/// The remaining third is for what the store does not see: it may count the session from a sign of
/// life before the request, and its clock may be slower than the one here.
fn end_of(sent: Duration, session_timeout: Duration) -> u64 {
    in_nanos(sent.saturating_add(session_timeout * 2 / 3))
}

fn in_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(UNLIMITED)
}
