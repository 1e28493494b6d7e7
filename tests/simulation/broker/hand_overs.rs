//! Hand-overs to preferred leaders and before a stop, by the steps of `replica_manager`.

use std::sync::Arc;
use std::time::Duration;

use streamlog::io::Clock;
use streamlog::metadata::{Image, Partition as PartitionImage};
use streamlog::replication::{HandOverProgress, Partition, Role};
use streamlog::types::BrokerId;
use tokio::time::{sleep, timeout};

use crate::broker::Broker;

/// The pause before partitions are handed over to preferred leaders.
const PAUSE: Duration = Duration::from_secs(1);

/// The pause after a hand-over that failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);

/// The pause between two looks at the partitions that are handed over.
const LOOK: Duration = Duration::from_millis(5);

/// The longest wait for the store to note that a broker stops, and then for other leaders.
const ANNOUNCING_MAX: Duration = Duration::from_secs(1);
const HANDING_OVER_MAX: Duration = Duration::from_secs(5);

/// A partition with the broker that is to lead it.
type Move = (Arc<Partition>, BrokerId);

impl Broker {
    /// Hands partitions over whose preferred leaders are in sync.
    pub(super) async fn return_to_preferred_leaders(self: Arc<Self>) {
        loop {
            let applied = self.applied.count();
            if self.moves_to_preferred().is_empty() {
                self.applied.beyond(applied).await;
                continue;
            }
            sleep(PAUSE).await;
            if self.hand_over(self.moves_to_preferred()).await > 0 {
                sleep(PAUSE_AFTER_FAILURE).await;
            }
        }
    }

    /// Hands over whatever another broker can lead.
    pub(crate) async fn resign(&self) {
        if !matches!(timeout(ANNOUNCING_MAX, self.metadata.announce_stop()).await, Ok(Ok(()))) {
            return;
        }
        let handing_over = async {
            loop {
                let moves = self.moves(|image, partition| {
                    let others = partition.replicas.iter().copied().filter(|id| *id != self.id);
                    others.into_iter().find(|id| image.may_take_over(partition, *id))
                });
                if moves.is_empty() {
                    return;
                }
                self.hand_over(moves).await;
                sleep(LOOK).await;
            }
        };
        // Others are elected when the session ends.
        let _ = timeout(HANDING_OVER_MAX, handing_over).await;
    }

    fn moves_to_preferred(&self) -> Vec<Move> {
        let image = self.image();
        if image.broker(self.id).is_none_or(|broker| broker.registration.is_stopping) {
            return Vec::new();
        }
        self.moves(|image, partition| {
            let preferred = *partition.replicas.first()?;
            let may_lead = preferred != self.id && image.may_take_over(partition, preferred);
            may_lead.then_some(preferred)
        })
    }

    /// The moves that `successor` finds for the partitions that this broker leads.
    fn moves(&self, successor: impl Fn(&Image, &PartitionImage) -> Option<BrokerId>) -> Vec<Move> {
        let image = self.image();
        let replicas = self.replicas();
        let led = replicas.into_iter().filter(|replica| replica.role() == Role::Leader);
        let to_move = led.filter_map(|partition| {
            let known = image.partition(&partition.id().topic, partition.id().partition)?;
            let is_current = known.leader_epoch() == partition.epoch();
            let to = successor(&image, known).filter(|_| is_current)?;
            Some((partition, to))
        });
        to_move.collect()
    }

    /// Hands partitions over, and returns the number of those that are led on.
    async fn hand_over(&self, moves: Vec<Move>) -> usize {
        let now = self.clock().monotonic();
        let count = moves.len();
        let mut under_way: Vec<_> = moves
            .into_iter()
            .filter(|(partition, to)| partition.begin_hand_over(*to, now).unwrap_or(false))
            .collect();
        let mut led_on = count - under_way.len();
        while !under_way.is_empty() {
            let now = self.clock().monotonic();
            under_way.retain(|(partition, _)| match partition.continue_hand_over(now) {
                HandOverProgress::Ask(change) => {
                    self.in_sync_changes.request(change);
                    true
                }
                HandOverProgress::Wait => true,
                HandOverProgress::Over => {
                    if partition.role() == Role::Leader {
                        led_on += 1;
                        self.world
                            .note("hand-over cut short", &[partition.id().partition.0.into()]);
                    }
                    false
                }
            });
            sleep(LOOK).await;
        }
        led_on
    }
}
