//! The partitions that this broker leads although damage is in the way of their readers, until they
//! are handed over.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::replication::Partition;
use crate::types::TopicPartition;

/// The time after a failed hand-over during which no other is tried: readers get the error of the
/// damage.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);

/// The reports, at most one for each partition.
#[derive(Debug, Default)]
pub struct DamageReports {
    reports: Mutex<BTreeMap<TopicPartition, Report>>,
    changed: Notify,
}

#[derive(Clone, Debug)]
enum Report {
    /// The partition is to be handed over.
    Due(Arc<Partition>),
    /// The partition could not be handed over. No hand-over is tried before this time.
    Failed(Duration),
}

impl DamageReports {
    /// Asks for another leader of a partition, at `now` by the monotonic clock. Returns false if a
    /// hand-over has failed shortly before.
    pub fn report(&self, partition: &Arc<Partition>, now: Duration) -> bool {
        let mut reports = self.lock();
        match reports.get(partition.id()) {
            Some(Report::Failed(until)) if now < *until => return false,
            Some(Report::Due(known)) if Arc::ptr_eq(known, partition) => return true,
            _ => {}
        }
        reports.insert(partition.id().clone(), Report::Due(Arc::clone(partition)));
        drop(reports);
        self.changed.notify_one();
        true
    }

    /// The partitions that are to be handed over.
    pub fn due(&self) -> Vec<Arc<Partition>> {
        let due = |report: &Report| match report {
            Report::Due(partition) => Some(Arc::clone(partition)),
            Report::Failed(_) => None,
        };
        self.lock().values().filter_map(due).collect()
    }

    /// Notes that a hand-over has ended at `now`.
    pub fn ended(&self, partition: &Partition, is_handed_over: bool, now: Duration) {
        let mut reports = self.lock();
        if is_handed_over {
            reports.remove(partition.id());
        } else {
            let until = now.saturating_add(PAUSE_AFTER_FAILURE);
            reports.insert(partition.id().clone(), Report::Failed(until));
        }
    }

    /// Waits for a new report.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Report>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replication::Pair;

    #[test]
    fn a_partition_is_reported_until_it_is_handed_over_and_not_shortly_after_a_failure() {
        let (reports, pair) = (DamageReports::default(), Pair::new());
        let partition = pair.follower();
        let at = Duration::from_secs;
        assert!(reports.report(&partition, at(1)) && reports.report(&partition, at(2)));
        assert_eq!(reports.due().len(), 1);
        reports.ended(&partition, false, at(3));
        assert!(reports.due().is_empty());
        assert!(!reports.report(&partition, at(12)));
        assert!(reports.report(&partition, at(13)), "another replica may be in sync by now");
        reports.ended(&partition, true, at(14));
        assert!(reports.due().is_empty());
        assert!(reports.report(&partition, at(14)), "it leads again");
    }
}
