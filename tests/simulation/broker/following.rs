//! The tasks of a follower, one for each other broker, by the steps of `replica_manager`.

use std::sync::Arc;
use std::time::Duration;

use streamlog::io::Clock;
use streamlog::replication::{FetchOutcome, FollowerError, FollowerPosition, Partition, Role};
use streamlog::types::{Offset, PartitionIndex};
use tokio::time::sleep;

use crate::broker::Broker;
use crate::broker::leading::{FollowerAnswer, FollowerFetch};
use crate::ensemble::index;
use crate::network::Place;

/// One fetch in this many waits until its log is flushed.
const PATIENT_ONE_IN: u64 = 3;

/// The pause after an exchange that failed.
const PAUSE: Duration = Duration::from_millis(200);

impl Broker {
    /// Fetches the partitions that another broker leads.
    pub(super) async fn fetch_from(self: Arc<Self>, leader: usize) {
        // The time at which the last answer was sent, which stands for its number.
        let mut follows = None;
        loop {
            let applied = self.applied.count();
            // The position tells the leader what has been stored. No promise rests on the wait for
            // that; without it, logs are truncated while they are flushed.
            if self.world.chance(PATIENT_ONE_IN) {
                for replica in self.followed(leader) {
                    replica.all_stored().await;
                }
            }
            let mut positions = self.positions(leader);
            let Some(membership) = self.metadata.membership() else {
                sleep(PAUSE).await;
                continue;
            };
            if positions.is_empty() {
                self.applied.beyond(applied).await;
                continue;
            }
            let now = self.clock().monotonic();
            positions.retain(|(number, known)| {
                let replica = self.partition(*number);
                replica.is_some_and(|it| it.note_asking(known.position.epoch, now))
            });
            let asked = positions.len();
            let fetch =
                FollowerFetch { broker: self.id, membership, positions, follows: follows.take() };
            let places = (Place::Machine(self.machine), leader);
            let answer = self.world.ask(places, |broker| broker.answer_follower(fetch));
            let answers = tokio::select! {
                biased;
                answers = answer => answers,
                // The partitions may have another leader or epoch.
                () = self.applied.beyond(applied) => continue,
            };
            let answers = answers.flatten();
            follows = answers.as_ref().map(|answers| answers.sent);
            let answers = answers.map(|answers| answers.partitions).unwrap_or_default();
            let taken = answers.into_iter().filter(|answer| self.take(answer)).count();
            if taken < asked {
                sleep(PAUSE).await;
            }
        }
    }

    /// The partitions that follow this leader.
    fn followed(&self, leader: usize) -> Vec<Arc<Partition>> {
        let role = Role::Follower { leader: Some(self.world.machines[leader].id()) };
        self.replicas().into_iter().filter(|replica| replica.role() == role).collect()
    }

    /// Their positions.
    fn positions(&self, leader: usize) -> Vec<(PartitionIndex, FollowerPosition)> {
        let followed = self.followed(leader);
        let leader = self.world.machines[leader].id();
        let position = |replica: &Arc<Partition>| {
            let found = match replica.follower_position() {
                Ok(found) => found?,
                Err(error) => {
                    self.refused(replica, &error.into());
                    return None;
                }
            };
            (found.leader == leader).then_some((replica.id().partition, found))
        };
        followed.iter().filter_map(position).collect()
    }

    /// Hands an answer to its partition; returns false if that could not take it.
    fn take(&self, taken: &FollowerAnswer) -> bool {
        let FollowerAnswer { partition: number, answer, records } = taken;
        let Some(partition) = self.partition(*number) else { return true };
        let (end, epochs) = (log_end(&partition), epochs_of(&partition));
        let numbers = [index(self.machine), number.0.into(), end.get()];
        if let Err(error) = partition.take_fetched(answer, records) {
            self.refused(&partition, &error);
            return false;
        }
        if matches!(answer.outcome, FetchOutcome::Diverging { .. }) {
            self.world.note("follower out of step", &numbers);
        }
        if log_end(&partition) < end {
            self.world.note("truncated", &numbers);
            if self.is_flushing(*number) {
                self.world.note("truncated during a flush", &numbers);
            }
            if epochs_of(&partition) + 2 <= epochs {
                self.world.note("walked back over two epochs", &numbers);
            }
        }
        true
    }

    /// Notes that a replica could not go on.
    fn refused(&self, replica: &Partition, error: &FollowerError) {
        self.world.tell(|| format!("broker {} does not go on: {error}", self.id));
        self.world
            .note("answer not taken", &[index(self.machine), replica.id().partition.0.into()]);
        if error.leaves_disk_unknown() {
            self.fail();
        }
    }
}

/// The number of leader epochs in a log.
fn epochs_of(partition: &Partition) -> usize {
    let log = partition.log();
    log.and_then(|log| log.epochs().entries().ok()).map_or(0, |entries| entries.len())
}

fn log_end(partition: &Partition) -> Offset {
    partition.log().map_or(Offset::ZERO, |log| log.log_end_offset())
}
