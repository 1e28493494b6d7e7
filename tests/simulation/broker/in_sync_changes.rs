//! The sender of in-sync changes, by the steps of `replica_manager::in_sync_changes`.

use std::sync::Arc;
use std::time::Duration;

use streamlog::io::Clock;
use streamlog::metadata::InSyncOutcome;
use streamlog::replication::{RequestedChange, Role};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

use crate::broker::Broker;

/// The time without all records after which a member leaves the in-sync set.
const LAG_MAX: Duration = Duration::from_secs(3);

/// The interval at which lagging members are looked for.
const CHECK: Duration = Duration::from_millis(750);

/// The time for which further changes are gathered after the first.
const GATHERING: Duration = Duration::from_millis(5);

/// The pause before a change of unknown outcome is repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

impl Broker {
    /// Sends the changes that the partitions ask for.
    pub(super) async fn send_in_sync_changes(self: Arc<Self>) {
        let mut requested = self.in_sync_changes.take_receiver().unwrap();
        let mut unsettled: Vec<RequestedChange> = Vec::new();
        let mut repeat_at = Instant::now();
        let mut checks = interval(CHECK);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let (changes, are_repeated) = tokio::select! {
                biased;
                Some(first) = requested.recv() => {
                    sleep(GATHERING).await;
                    let mut changes = vec![first];
                    while let Ok(next) = requested.try_recv() {
                        changes.push(next);
                    }
                    (changes, false)
                }
                _ = checks.tick() => (self.due(), false),
                () = sleep_until(repeat_at), if !unsettled.is_empty() => {
                    (std::mem::take(&mut unsettled), true)
                }
            };
            let unknown = self.send(changes, are_repeated).await;
            if unsettled.is_empty() {
                repeat_at = Instant::now() + RETRY_PAUSE;
            }
            unsettled.extend(unknown);
        }
    }

    /// The changes by which lagging members leave, and caching ends.
    fn due(&self) -> Vec<RequestedChange> {
        let now = self.clock().monotonic();
        let replicas = self.replicas();
        let led = replicas.iter().filter(|replica| replica.role() == Role::Leader);
        led.filter_map(|replica| {
            replica.remove_lagging(now, LAG_MAX).or_else(|| replica.end_caching(now))
        })
        .collect()
    }

    /// Sends changes, and returns those of unknown outcome.
    async fn send(
        &self,
        mut asked: Vec<RequestedChange>,
        are_repeated: bool,
    ) -> Vec<RequestedChange> {
        // A later leader epoch settles what an earlier one has asked for.
        asked.retain(|asked| asked.partition.epoch() == asked.epoch);
        if asked.is_empty() {
            return Vec::new();
        }
        let changes: Vec<_> = asked.iter().map(|asked| asked.state_change(are_repeated)).collect();
        let outcomes = self.metadata.change_in_sync(&changes).await;
        let mut unsettled = Vec::new();
        for (asked, outcome) in asked.into_iter().zip(outcomes) {
            asked.answer(outcome);
            let number = asked.partition.id().partition.0.into();
            match outcome {
                InSyncOutcome::Applied { .. } if asked.change.successor.is_some() => {
                    self.world.note("handed over", &[number]);
                }
                InSyncOutcome::Applied { .. } if asked.change.ends_caching => {
                    self.world.note("caching ended", &[number]);
                }
                InSyncOutcome::Applied { .. } => {}
                InSyncOutcome::Refused => self.world.note("refused change", &[number]),
                InSyncOutcome::Unknown => {
                    self.world.note("outcome unknown", &[number]);
                    unsettled.push(asked);
                }
            }
        }
        unsettled
    }
}
