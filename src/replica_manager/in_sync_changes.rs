//! The sender of changes of in-sync sets: a single task for all partitions that this broker leads.
//!
//! Changes are gathered for a moment and go to the metadata store together: when a broker ends or
//! returns, all partitions that it replicates change. A change whose outcome is unknown is repeated
//! until it is settled; until then the partition counts the members of both sets.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::engine::EngineState;
use crate::metadata::{InSyncOutcome, IsrMember};
use crate::replica_manager::unsettled::Unsettled;
use crate::replication::{Partition, RequestedChange};

/// The time for which further changes are gathered after the first.
const GATHERING: Duration = Duration::from_millis(5);

/// The maximum number of changes that are sent together.
const CHANGES_MAX: usize = 1000;

/// The number of times in `replica.lag.time.max.ms` that lagging replicas are looked for.
const CHECKS: u32 = 4;

/// The sender of changes.
pub(super) struct InSyncChanges {
    engine: Arc<EngineState>,
    requested: Receiver<RequestedChange>,
    /// The changes to repeat, because they may have been made.
    unsettled: Unsettled<RequestedChange>,
    lag_max: Duration,
}

impl InSyncChanges {
    /// The sender of the changes that arrive at `requested`. Replicas leave the in-sync set after
    /// `lag_max`.
    pub(super) fn new(
        engine: Arc<EngineState>,
        requested: Receiver<RequestedChange>,
        lag_max: Duration,
    ) -> Self {
        Self { engine, requested, unsettled: Unsettled::default(), lag_max }
    }

    /// Sends changes until the broker stops.
    pub(super) async fn run(mut self) {
        let stopping = self.engine.stopping.clone();
        stopping.run_until_cancelled(self.send_all()).await;
    }

    async fn send_all(&mut self) {
        let mut checks = interval(self.lag_max / CHECKS);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut applied = self.engine.applied.subscribe();
        applied.mark_changed();
        // Without followers there is nothing to look for, and an idle broker is not woken.
        let mut is_watchful = false;
        loop {
            // Those that are ready most often come last: each of the others is rare.
            let (changes, are_repeated) = tokio::select! {
                biased;
                () = self.unsettled.due() => (self.unsettled.take(), true),
                _ = checks.tick(), if is_watchful => (self.due(), false),
                Ok(()) = applied.changed() => {
                    let ending = self.ending();
                    is_watchful = self.has_followers() || !ending.is_empty();
                    (self.endings(&ending), false)
                }
                first = self.requested.recv() => match first {
                    Some(first) => (self.gathered(first).await, false),
                    None => return,
                },
            };
            self.send(changes, are_repeated).await;
        }
    }

    /// The first change and those that come shortly after it.
    async fn gathered(&mut self, first: RequestedChange) -> Vec<RequestedChange> {
        sleep(GATHERING).await;
        let mut changes = vec![first];
        while changes.len() < CHANGES_MAX
            && let Ok(next) = self.requested.try_recv()
        {
            changes.push(next);
        }
        changes
    }

    /// Returns true if this broker leads a partition of several replicas.
    fn has_followers(&self) -> bool {
        let (me, image) = (self.engine.config.broker_id, self.engine.image());
        let mut partitions = image.topics().flat_map(|topic| &topic.partitions);
        partitions.any(|partition| partition.leader() == Some(me) && partition.replicas.len() > 1)
    }

    /// The partitions that this broker leads, and in which caching is ending.
    fn ending(&self) -> Vec<Arc<Partition>> {
        let topics = self.engine.partitions.topics();
        let led = topics.iter().flat_map(|topic| topic.led());
        led.filter(|partition| partition.is_ending_caching()).cloned().collect()
    }

    /// The changes after which these partitions do not count as caching any more, as far as they
    /// are due. Logs that nobody has opened yet are opened for that.
    fn endings(&self, ending: &[Arc<Partition>]) -> Vec<RequestedChange> {
        let closed = ending.iter().filter(|partition| !partition.is_open());
        let closed: Vec<_> = closed.cloned().collect();
        if !closed.is_empty() {
            let engine = Arc::clone(&self.engine);
            self.engine.control.start(async move {
                // A log that cannot be opened says so to its users.
                let open = move || closed.iter().for_each(|closed| drop(closed.open()));
                let _ = engine.control.run_blocking(open).await;
            });
        }
        let now = self.engine.clock.monotonic();
        ending.iter().filter_map(|partition| partition.end_caching(now)).collect()
    }

    /// The changes by which lagging replicas leave, and caching ends.
    fn due(&self) -> Vec<RequestedChange> {
        let now = self.engine.clock.monotonic();
        let topics = self.engine.partitions.topics();
        let led = topics.iter().flat_map(|topic| topic.led());
        let lagging = led.filter_map(|partition| partition.remove_lagging(now, self.lag_max));
        lagging.chain(self.endings(&self.ending())).collect()
    }

    async fn send(&mut self, mut asked: Vec<RequestedChange>, are_repeated: bool) {
        asked.retain(RequestedChange::is_awaited);
        if asked.is_empty() {
            return;
        }
        let changes: Vec<_> = asked.iter().map(|asked| asked.state_change(are_repeated)).collect();
        let outcomes = self.engine.metadata.change_in_sync(&changes).await;
        for (asked, outcome) in asked.into_iter().zip(outcomes) {
            asked.answer(outcome);
            match outcome {
                InSyncOutcome::Applied { .. } => report(&asked),
                InSyncOutcome::Refused => {}
                InSyncOutcome::Unknown => self.unsettled.add(asked),
            }
        }
    }
}

fn report(applied: &RequestedChange) {
    let (id, change) = (applied.partition.id(), &applied.change);
    if let Some(successor) = change.successor {
        tracing::info!("broker {} takes over {id}", successor.broker);
    } else if change.ends_caching {
        tracing::info!(
            "'write.caching' is over in {id}: all in-sync replicas have flushed its records"
        );
    } else {
        let members = brokers(&change.members);
        tracing::info!("the in-sync replicas of {id} are now {members}");
    }
}

fn brokers(members: &[IsrMember]) -> String {
    let ids: Vec<String> = members.iter().map(|member| member.broker.to_string()).collect();
    format!("brokers {}", ids.join(", "))
}
