//! Reports the logs of this broker's replicas to the controller, while their partitions have no
//! leader, or one that is not believed yet (rule R21 in docs/replication.md).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::engine::{EngineState, Unavailable};
use crate::metadata::{Caching, LogReport, LogReports};
use crate::replication::{Partition, Role};
use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicId, TopicPartition, WithCauses};

/// The maximum number of reports at a time, so that the registration stays small. Others follow
/// once leaders are elected for these.
const REPORTS_MAX: usize = 10_000;

/// The pause before reports that failed are tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// A replica whose partition has no leader that it may follow.
type Leaderless = ((TopicId, PartitionIndex), Arc<Partition>);

/// The task that reports logs.
pub(super) struct LogReporter {
    engine: Arc<EngineState>,
    /// The replicas of which it was said that their logs cannot be reported.
    failed: BTreeSet<(TopicId, PartitionIndex)>,
}

impl LogReporter {
    pub(super) fn new(engine: Arc<EngineState>) -> Self {
        Self { engine, failed: BTreeSet::new() }
    }

    /// Reports until this broker stops.
    pub(super) async fn run(mut self) {
        let stopping = self.engine.stopping.clone();
        let mut applied = self.engine.applied.subscribe();
        let reporting = async {
            loop {
                applied.mark_unchanged();
                let Ok(is_done) = self.report().await else { return };
                tokio::select! {
                    biased;
                    changed = applied.changed() => if changed.is_err() { return },
                    () = sleep(RETRY_PAUSE), if !is_done => {}
                }
            }
        };
        stopping.run_until_cancelled(reporting).await;
    }

    /// Brings the registration in line with the partitions that have no leader. Returns false if
    /// that has to be tried again.
    async fn report(&mut self) -> Result<bool, Unavailable> {
        let me = self.engine.config.broker_id;
        let registered = self.engine.image().broker(me).map(|own| own.registration.reports.clone());
        let Some(reported) = registered else { return Ok(false) };
        let mut reports = self.reports_of_lost().await?;
        let leaderless = self.leaderless();
        let mut due = Vec::new();
        for (id, partition) in leaderless.into_iter().take(REPORTS_MAX) {
            match reported.get(&id).filter(|known| known.epoch == partition.epoch()) {
                Some(known) => drop(reports.insert(id, *known)),
                None => due.push((id, partition)),
            }
        }
        let asked = due.len();
        let found = self.look_at(due).await?;
        let is_complete = found.len() == asked;
        reports.extend(found);
        if reports == reported {
            return Ok(is_complete);
        }
        match self.engine.metadata.report_logs(&reports).await {
            Ok(()) => {
                if !reports.is_empty() {
                    let count = reports.len();
                    tracing::info!("{count} replicas without a leader: their logs are reported");
                }
                Ok(is_complete)
            }
            Err(error) => {
                // The store is unreachable, and the connection to it has logged that.
                tracing::debug!("logs are reported later: {}", WithCauses(&error));
                Ok(false)
            }
        }
    }

    /// The replicas whose partitions have no leader that they may follow, and more than one
    /// replica.
    fn leaderless(&self) -> Vec<Leaderless> {
        let image = self.engine.image();
        let mut leaderless = Vec::new();
        for topic in self.engine.partitions.topics() {
            let Some(known) = image.topic_by_id(topic.id) else { continue };
            for partition in topic.partitions() {
                let index = partition.id().partition;
                let is_shared = known.partition(index).is_some_and(|p| p.replicas.len() > 1);
                if is_shared && partition.role() == (Role::Follower { leader: None }) {
                    leaderless.push(((topic.id, index), Arc::clone(partition)));
                }
            }
        }
        leaderless.sort_unstable_by_key(|(id, _)| *id);
        leaderless
    }

    /// The reports of these logs, once they are flushed. Those that cannot be read are left out.
    async fn look_at(&mut self, due: Vec<Leaderless>) -> Result<LogReports, Unavailable> {
        if due.is_empty() {
            return Ok(LogReports::new());
        }
        let control = self.engine.control.clone();
        let opened = control.run_blocking(move || {
            let open = |due: Leaderless| {
                let error = due.1.open().err();
                (due, error)
            };
            due.into_iter().map(open).collect::<Vec<_>>()
        });
        let mut ready = Vec::new();
        for ((id, partition), error) in opened.await? {
            match error {
                None => ready.push((id, partition)),
                Some(error) => {
                    if self.failed.insert(id) {
                        let (id, error) = (partition.id(), WithCauses(&error));
                        tracing::error!("the log of {id} cannot be reported: {error}");
                    }
                    self.engine.losses.note_unreadable(&self.engine.image(), &partition);
                }
            }
        }
        // A log whose flush does not end must not hold up the others.
        let _ = timeout(RETRY_PAUSE, async {
            for (_, partition) in &ready {
                partition.all_flushed().await;
            }
        })
        .await;
        let report = |(id, partition): Leaderless| Some((id, partition.log_report().ok()??));
        control.run_blocking(move || ready.into_iter().filter_map(report).collect()).await
    }

    /// The reports of replicas whose disk has lost records. They count for the offsets that are
    /// known to have been committed, and never for an election of these replicas.
    async fn reports_of_lost(&self) -> Result<LogReports, Unavailable> {
        let lost = self.engine.losses.replicas();
        if lost.is_empty() {
            return Ok(LogReports::new());
        }
        let engine = Arc::clone(&self.engine);
        // Floors may wait for a checkpoint that is being written.
        self.engine.control.run_blocking(move || reports_of(lost, &engine)).await
    }
}

/// The reports of these replicas, which have lost records.
fn reports_of(
    lost: impl IntoIterator<Item = (TopicId, PartitionIndex)>,
    engine: &EngineState,
) -> LogReports {
    let image = engine.image();
    let reports = lost.into_iter().filter_map(|(id, index)| {
        let topic = image.topic_by_id(id)?;
        let state = topic.partition(index)?.state.as_ref()?;
        let partition = TopicPartition { topic: topic.name.clone(), partition: index };
        let floor = engine.logs.data.floor(&partition, id).unwrap_or_default();
        // Without its records, nobody knows whether the log reached the epoch since which
        // floors count.
        let is_void =
            state.loss.is_some() || state.caching != Caching::Off || state.caching_ended.is_some();
        let report = LogReport {
            epoch: state.leader_epoch,
            last_epoch: LeaderEpoch::NONE,
            end: Offset::ZERO,
            floor: if is_void { Offset::ZERO } else { floor },
        };
        let is_asked = state.leader.is_none() || state.unvouched.is_some();
        is_asked.then_some(((id, index), report))
    });
    reports.take(REPORTS_MAX).collect()
}
