//! The report of an outage that delays a producer's records, for a person who waits for them.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::client::ClientError;
use crate::wire::ErrorCode;

/// The age of the oldest record at which a broker that cannot be reached is reported. Most such
/// brokers only restart.
const REPORTED_AFTER: Duration = Duration::from_secs(3);

type Listener = Box<dyn Fn(&ClientError) + Send + Sync>;

/// The callback for outages, and whether it was called in the present one.
#[derive(Default)]
pub(crate) struct DelayReport {
    listener: OnceLock<Listener>,
    is_made: AtomicBool,
}

impl fmt::Debug for DelayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayReport").field("is_made", &self.is_made).finish_non_exhaustive()
    }
}

impl DelayReport {
    /// Sets the callback; only the first one is kept.
    pub(crate) fn listen(&self, listener: impl Fn(&ClientError) + Send + Sync + 'static) {
        let _ = self.listener.set(Box::new(listener));
    }

    /// Reports, once per outage, a broker that cannot store records, or one that cannot be reached
    /// and for which the oldest record has waited for some seconds.
    pub(crate) fn failed(&self, error: &ClientError, waited: Option<Duration>) {
        let is_reported = match error {
            ClientError::Connect { .. } => waited.is_some_and(|waited| waited >= REPORTED_AFTER),
            error => error.code() == Some(ErrorCode::KafkaStorageError),
        };
        if is_reported
            && !self.is_made.swap(true, Ordering::Relaxed)
            && let Some(listener) = self.listener.get()
        {
            listener(error);
        }
    }

    /// Records that records were delivered: the outage is over.
    pub(crate) fn delivered(&self) {
        self.is_made.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A report, and the number of calls of its callback.
    fn counted() -> (DelayReport, impl Fn() -> usize) {
        let (report, count) = (DelayReport::default(), Arc::new(AtomicUsize::new(0)));
        let counter = Arc::clone(&count);
        report.listen(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        (report, move || count.load(Ordering::Relaxed))
    }

    #[test]
    fn a_broker_that_stays_unreachable_is_reported_once_per_outage() {
        let (report, count) = counted();
        let error = ClientError::unreachable("b:9092", "refused");
        for waited in [None, Some(Duration::ZERO), Some(Duration::from_millis(2999))] {
            report.failed(&error, waited);
        }
        assert_eq!(count(), 0);
        for _ in 0..2 {
            report.failed(&error, Some(REPORTED_AFTER));
        }
        assert_eq!(count(), 1);
        report.delivered();
        report.failed(&ClientError::Closed, Some(REPORTED_AFTER));
        assert_eq!(count(), 1);
        report.failed(&error, Some(REPORTED_AFTER));
        assert_eq!(count(), 2);
    }

    #[test]
    fn a_broker_that_cannot_store_records_is_reported_at_once() {
        let (report, count) = counted();
        let error = ClientError::from_code(ErrorCode::KafkaStorageError, "t-0", None);
        report.failed(&error, Some(Duration::ZERO));
        assert_eq!(count(), 1);
    }
}
