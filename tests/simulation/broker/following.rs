//! The tasks of a follower, one for each other broker, by the steps of `replica_manager`.

use std::sync::Arc;
use std::time::Duration;

use streamlog::replication::{
    FetchOutcome, FollowerPosition, Partition, Progress, Registration, Role,
};
use streamlog::types::{Offset, PartitionIndex};
use tokio::sync::Notify;
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
            let mut waits = Vec::new();
            for answer in answers {
                waits.extend(self.take(answer));
            }
            for wait in waits {
                wait.wake.notified().await;
            }
            if !is_complete {
                sleep(PAUSE).await;
            }
        }
    }

    /// The positions of the partitions that follow this leader.
    fn positions(&self, leader: usize) -> Vec<(PartitionIndex, FollowerPosition)> {
        let leader = self.world.machines[leader].id();
        let follows =
            |replica: &Arc<Partition>| replica.role() == Role::Follower { leader: Some(leader) };
        let replicas = self.replicas();
        let followed = replicas.iter().filter(|replica| follows(replica));
        let position = |replica: &Arc<Partition>| {
            let found = replica.follower_position().unwrap()?;
            (found.leader == leader).then_some((replica.id().partition, found))
        };
        followed.filter_map(position).collect()
    }

    /// Hands an answer to its partition. The next fetch tells the leader what has been stored, so
    /// it waits for the flush.
    fn take(&self, taken: FollowerAnswer) -> Option<FlushWait> {
        let FollowerAnswer { partition: number, answer, records } = taken;
        let partition = self.partition(number)?;
        let end = log_end(&partition);
        let numbers = [index(self.machine), number.0.into(), end.get()];
        if let Err(error) = partition.take_fetched(&answer, &records) {
            self.world.tell(|| format!("broker {} takes no answer: {error}", self.id));
            self.world.note("answer not taken", &numbers);
            return None;
        }
        if matches!(answer.outcome, FetchOutcome::Diverging { .. }) {
            self.world.note("follower out of step", &numbers);
        }
        if log_end(&partition) < end {
            self.world.note("truncated", &numbers);
        }
        FlushWait::begin(&partition)
    }
}

/// A wait until a replica has flushed its log.
struct FlushWait {
    wake: Arc<Notify>,
    _registration: Registration,
}

impl FlushWait {
    fn begin(partition: &Arc<Partition>) -> Option<Self> {
        let last = Offset::checked(partition.unstored_end()?.get() - 1)?;
        let wake = Arc::new(Notify::new());
        let registration = partition.wait_for(Progress::Stored, last, &wake);
        // Looked at again after the registration: a flush may have ended in between.
        partition.unstored_end().map(|_| Self { wake, _registration: registration })
    }
}

fn log_end(partition: &Partition) -> Offset {
    partition.log().map_or(Offset::ZERO, |log| log.log_end_offset())
}
