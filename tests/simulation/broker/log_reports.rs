//! The reports of logs without a leader, by the steps of `replica_manager::log_reporter`.

use std::sync::Arc;
use std::time::Duration;

use streamlog::metadata::{LogReport, LogReports};
use streamlog::replication::Role;
use streamlog::types::{LeaderEpoch, Offset};
use tokio::time::{sleep, timeout};

use crate::broker::Broker;
use crate::ensemble::index;

/// The pause before reports that failed are tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

impl Broker {
    /// Reports the logs of the partitions that have no leader.
    pub(super) async fn report_logs(self: Arc<Self>) {
        let mut reported = LogReports::new();
        loop {
            let applied = self.applied.count();
            let mut reports = self.reports_of_lost();
            let mut is_complete = true;
            for replica in self.replicas() {
                if replica.role() != (Role::Follower { leader: None }) || replica.open().is_err() {
                    continue;
                }
                replica.all_flushed().await;
                match replica.log_report() {
                    Ok(Some(report)) => {
                        reports.insert((replica.topic_id(), replica.id().partition), report);
                    }
                    _ => is_complete = false,
                }
            }
            if reports != reported {
                if self.metadata.report_logs(&reports).await.is_ok() {
                    for (_, partition) in reports.keys() {
                        self.world.note("log reported", &[index(self.machine), partition.0.into()]);
                    }
                    reported = reports;
                } else {
                    is_complete = false;
                }
            }
            let more = self.applied.beyond(applied);
            if is_complete {
                more.await;
            } else {
                let _ = timeout(RETRY_PAUSE, more).await;
                sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// The reports of replicas whose disk has lost records.
    fn reports_of_lost(&self) -> LogReports {
        let image = self.image();
        let lost = self.lost_replicas().into_iter().filter_map(|(topic, number)| {
            let topic = image.topic_by_id(topic)?;
            let state = topic.partition(number)?.state.as_ref()?;
            let partition = Self::named(number);
            let report = LogReport {
                epoch: state.leader_epoch,
                last_epoch: LeaderEpoch::NONE,
                end: Offset::ZERO,
                floor: self.logs.data.floor(&partition, topic.id).unwrap_or_default(),
            };
            let is_asked = state.leader.is_none() || state.unvouched.is_some();
            is_asked.then_some(((topic.id, number), report))
        });
        lost.collect()
    }
}
