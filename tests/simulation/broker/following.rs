//! The tasks of a follower, one for each other broker, by the steps of `replica_manager`.

use std::sync::Arc;
use std::time::Duration;

use streamlog::replication::{FetchOutcome, FollowerPosition, Partition, Role};
use streamlog::types::{Offset, PartitionIndex};
use tokio::time::sleep;

use crate::broker::Broker;
use crate::broker::leading::{FollowerAnswer, FollowerFetch};
use crate::ensemble::index;
use crate::network::Place;

/// The pause after an exchange that failed.
const PAUSE: Duration = Duration::from_millis(200);

impl Broker {
    /// Fetches the partitions that another broker leads.
    pub(super) async fn fetch_from(self: Arc<Self>, leader: usize) {
        loop {
            let applied = self.applied.count();
            for replica in self.followed(leader) {
                // The position tells the leader what has been stored.
                replica.all_stored().await;
            }
            let positions = self.positions(leader);
            let Some(membership) = self.metadata.membership() else {
                sleep(PAUSE).await;
                continue;
            };
            if positions.is_empty() {
                self.applied.beyond(applied).await;
                continue;
            }
            let asked = positions.len();
            let fetch = FollowerFetch { broker: self.id, membership, positions };
            let places = (Place::Machine(self.machine), leader);
            let answer = self.world.ask(places, |broker| broker.answer_follower(fetch));
            let answers = tokio::select! {
                biased;
                answers = answer => answers,
                // The partitions may have another leader or epoch.
                () = self.applied.beyond(applied) => continue,
            };
            let answers = answers.unwrap_or_default();
            let is_complete = answers.len() == asked;
            for answer in answers {
                self.take(answer);
            }
            if !is_complete {
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
            let found = replica.follower_position().unwrap()?;
            (found.leader == leader).then_some((replica.id().partition, found))
        };
        followed.iter().filter_map(position).collect()
    }

    /// Hands an answer to its partition.
    fn take(&self, taken: FollowerAnswer) {
        let FollowerAnswer { partition: number, answer, records } = taken;
        let Some(partition) = self.partition(number) else { return };
        let end = log_end(&partition);
        let numbers = [index(self.machine), number.0.into(), end.get()];
        if let Err(error) = partition.take_fetched(&answer, &records) {
            self.world.tell(|| format!("broker {} takes no answer: {error}", self.id));
            self.world.note("answer not taken", &numbers);
            return;
        }
        if matches!(answer.outcome, FetchOutcome::Diverging { .. }) {
            self.world.note("follower out of step", &numbers);
        }
        if log_end(&partition) < end {
            self.world.note("truncated", &numbers);
        }
    }
}

fn log_end(partition: &Partition) -> Offset {
    partition.log().map_or(Offset::ZERO, |log| log.log_end_offset())
}
