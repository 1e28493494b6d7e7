//! The replicas that are fetched from one leader, with the positions to fetch next.
//!
//! A position is computed again only after something has happened to its replica: of thousands of
//! idle replicas, an exchange with the leader touches none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::engine::{Control, Failure, Unavailable};
use crate::replica_manager::answers::{Refusal, ask_for_gaps, gaps_in, read_answer};
use crate::replica_manager::fetch_session::{FetchSession, Scope, WantedPositions};
use crate::replica_manager::followed::FollowedPartition;
use crate::replica_manager::pauses::{Fault, Pauses};
use crate::replication::{
    FetchAnswer, Fetched, FollowerError, FollowerPosition, Partition, PartitionError,
    take_all_fetched,
};
use crate::types::{BrokerId, PartitionKey, WithCauses};
use crate::wire::describe_log_dirs::{DescribeLogDirsRequest, DescribeLogDirsResponse};
use crate::wire::fetch::{FetchResponse, Partition as PartitionAnswer};

/// The replicas that are fetched from one leader.
#[derive(Debug)]
pub(super) struct Replicas {
    leader: BrokerId,
    partitions: BTreeMap<PartitionKey, FollowedPartition>,
    /// The positions of the replicas to fetch: those that are known, and not paused.
    positions: WantedPositions,
    /// The replicas whose positions have to be computed again.
    stale: BTreeSet<PartitionKey>,
    /// The pause after a failure, and the longest wait for flushes.
    pause: Duration,
    pauses: Pauses,
    /// The replicas that have refused records because of a gap, for which the leader is to be
    /// asked.
    unexplained: BTreeSet<PartitionKey>,
    /// Ends the engine when a sync has failed.
    failure: Arc<Failure>,
}

/// A leader's answer for a partition, and the records in it.
struct AnsweredReplica {
    key: PartitionKey,
    partition: Arc<Partition>,
    answer: FetchAnswer,
    records: bytes::Bytes,
}

impl AnsweredReplica {
    fn fetched(&self) -> Fetched<'_> {
        let Self { partition, answer, records, .. } = self;
        Fetched { partition, answer, records }
    }
}

impl Replicas {
    /// The replicas of `leader`, none yet. A replica that fails is fetched again after `pause`. A
    /// failure that leaves the disk unknown is reported to `failure` too.
    pub(super) fn new(leader: BrokerId, pause: Duration, failure: Arc<Failure>) -> Self {
        Self {
            leader,
            partitions: BTreeMap::new(),
            positions: WantedPositions::default(),
            stale: BTreeSet::new(),
            pause,
            pauses: Pauses::new(pause),
            unexplained: BTreeSet::new(),
            failure,
        }
    }

    /// Replaces the partitions.
    pub(super) fn follow(&mut self, partitions: &BTreeMap<PartitionKey, FollowedPartition>) {
        let changed = partitions.iter().filter(|(key, now)| self.partitions.get(key) != Some(*now));
        self.stale.extend(changed.map(|(key, _)| *key));
        self.stale.retain(|key| partitions.contains_key(key));
        self.unexplained.retain(|key| partitions.contains_key(key));
        self.positions.retain(Scope::Whole, |key, _| partitions.contains_key(key));
        self.pauses.metadata_changed(|key| partitions.contains_key(key));
        self.partitions.clone_from(partitions);
    }

    /// The positions to fetch from, as they were found last.
    pub(super) fn positions(&self) -> &WantedPositions {
        &self.positions
    }

    /// Finds the new positions of the replicas to which something has happened, unless they are
    /// paused at `now`. First waits, at most for a pause, until those replicas have stored all
    /// their records. The leader is told a position only once, so the position must include records
    /// that a flush under way will store.
    ///
    /// # Errors
    /// If the broker stops.
    pub(super) async fn find_positions(
        &mut self,
        control: &Control,
        now: Duration,
    ) -> Result<(), Unavailable> {
        let (pauses, partitions) = (&self.pauses, &self.partitions);
        let due = self.stale.iter().filter(|key| !pauses.is_paused(key, now));
        let partition = |key: &PartitionKey| Some(Arc::clone(&partitions.get(key)?.partition));
        let due: Vec<_> = due.filter_map(|key| Some((*key, partition(key)?))).collect();
        if due.is_empty() {
            return Ok(());
        }
        let due = self.stored(due, now).await;
        // Finding a position opens the replica's log, which blocks on the disk.
        let found = control.run_blocking(move || {
            let position = |(key, partition): (_, Arc<Partition>)| {
                let found = partition.follower_position();
                (key, found)
            };
            due.into_iter().map(position).collect::<Vec<_>>()
        });
        for (key, found) in found.await? {
            self.note_position(key, found, now);
        }
        Ok(())
    }

    /// The replicas whose logs cannot be opened.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = &Partition> {
        let partition = |key| Some(&*self.partitions.get(key)?.partition);
        let stale = self.stale.iter().filter_map(partition);
        stale.filter(|partition| partition.unreadable().is_some())
    }

    /// Notes that a fetch of this scope is about to be sent, at `now`. Returns the positions,
    /// without those of the scope whose leader epochs are over.
    pub(super) fn note_asking(&mut self, scope: Scope, now: Duration) -> &mut WantedPositions {
        let Self { partitions, positions, .. } = self;
        positions.retain(scope, |key, known| {
            let followed = partitions.get(key);
            followed.is_some_and(|it| it.partition.note_asking(known.position.epoch, now))
        });
        positions
    }

    /// Waits for the flushes of these replicas, at most for a pause, and returns the replicas that
    /// have stored all their records. A replica whose flush does not end must not hold up the
    /// others: it begins a pause, and is not waited for again while it fails.
    async fn stored(
        &mut self,
        due: Vec<(PartitionKey, Arc<Partition>)>,
        now: Duration,
    ) -> Vec<(PartitionKey, Arc<Partition>)> {
        let _ = timeout(self.pause, async {
            for (_, partition) in due.iter().filter(|(key, _)| !self.pauses.has_failed(key)) {
                partition.all_stored().await;
            }
        })
        .await;
        let is_stored = |(_, partition): &(_, Arc<Partition>)| partition.unstored_end().is_none();
        let (stored, unstored): (Vec<_>, Vec<_>) = due.into_iter().partition(is_stored);
        for (key, _) in unstored {
            self.failed(key, &Stop::Unstored, now);
        }
        stored
    }

    /// The time at which a paused replica is due again.
    pub(super) fn next_due(&self, now: Duration) -> Option<Duration> {
        self.pauses.next(now)
    }

    fn note_position(
        &mut self,
        key: PartitionKey,
        found: Result<Option<FollowerPosition>, PartitionError>,
        now: Duration,
    ) {
        match found {
            Ok(Some(position)) if position.leader == self.leader => {
                self.stale.remove(&key);
                self.positions.insert(key, position);
            }
            Ok(_) => {
                // The next image names the current leader of the replica.
                self.stale.remove(&key);
                self.positions.remove(&key);
            }
            Err(error) => self.failed(key, &Stop::Local(error.into()), now),
        }
    }

    /// Hands an answer to the replicas, which append its records without flushing them.
    ///
    /// # Errors
    /// If the broker stops.
    pub(super) async fn take(
        &mut self,
        answer: FetchResponse,
        session: &FetchSession,
        control: &Control,
        now: Duration,
    ) -> Result<(), Unavailable> {
        let fetched = self.read(answer, session, now);
        if fetched.is_empty() {
            return Ok(());
        }
        // All records of an answer in one piece of work: they only go to the page cache, and a
        // leader must not occupy the whole pool.
        let taken = control.run_blocking(move || {
            let answers: Vec<_> = fetched.iter().map(AnsweredReplica::fetched).collect();
            let taken = take_all_fetched(&answers);
            fetched.iter().map(|it| it.key).zip(taken).collect::<Vec<_>>()
        });
        for (key, taken) in taken.await? {
            match taken {
                Ok(()) => self.fetched(key),
                Err(error) => self.failed(key, &Stop::Local(error), now),
            }
        }
        Ok(())
    }

    /// The question to the leader for gaps in its logs that it has to explain; `None` if there are
    /// none. Each gap is asked for once after each refusal.
    pub(super) fn ask_for_gaps(&mut self) -> Option<DescribeLogDirsRequest> {
        let unexplained = std::mem::take(&mut self.unexplained);
        let followed = unexplained.iter().filter_map(|key| self.partitions.get(key));
        let mut ids = followed.map(|followed| followed.partition.id()).peekable();
        ids.peek()?;
        Some(ask_for_gaps(ids))
    }

    /// Lets the replicas take records behind the gaps that the leader has explained.
    ///
    /// # Errors
    /// If the broker stops.
    pub(super) async fn explain_gaps(
        &mut self,
        answer: &DescribeLogDirsResponse,
        control: &Control,
    ) -> Result<(), Unavailable> {
        let gaps = gaps_in(answer);
        let followed = self.partitions.values().map(|followed| &followed.partition);
        let explained: Vec<_> = followed
            .filter_map(|partition| Some((Arc::clone(partition), *gaps.get(partition.id())?)))
            .collect();
        control
            .run_blocking(move || {
                for (partition, below) in explained {
                    if let Err(error) = partition.expect_gaps(below) {
                        let (id, error) = (partition.id(), WithCauses(&error));
                        tracing::warn!(partition = %id, %error, "gaps of the leader are not noted");
                    }
                }
            })
            .await
    }

    /// The answers that can be applied, in the order of their partitions, one for each. The
    /// partitions with other answers begin a pause.
    fn read(
        &mut self,
        answer: FetchResponse,
        session: &FetchSession,
        now: Duration,
    ) -> Vec<AnsweredReplica> {
        let mut fetched = Vec::new();
        for topic in answer.topics {
            for answer in topic.partitions {
                let key = PartitionKey::new(topic.topic_id, answer.partition_index);
                fetched.extend(self.read_partition(key, answer, session, now));
            }
        }
        fetched.sort_by_key(|it: &AnsweredReplica| it.key);
        fetched.dedup_by_key(|it| it.key);
        fetched
    }

    fn read_partition(
        &mut self,
        key: PartitionKey,
        answer: PartitionAnswer,
        session: &FetchSession,
        now: Duration,
    ) -> Option<AnsweredReplica> {
        let partition = Arc::clone(&self.partitions.get(&key)?.partition);
        let asked = session.position(&key)?;
        match read_answer(answer, asked.position) {
            Ok((answer, records)) => Some(AnsweredReplica { key, partition, answer, records }),
            Err(refusal) => {
                self.failed(key, &Stop::Refused(refusal), now);
                None
            }
        }
    }

    /// Begins a pause of a replica, whose position is found again at its end.
    fn failed(&mut self, key: PartitionKey, stop: &Stop, now: Duration) {
        self.stale.insert(key);
        self.positions.remove(&key);
        if let Stop::Local(error) = stop
            && error.leaves_disk_unknown()
        {
            self.failure.report(WithCauses(error).to_string());
        }
        if stop.is_gap() {
            self.unexplained.insert(key);
        }
        let is_news = self.pauses.failed(key, stop.fault(), now);
        let Some(followed) = self.partitions.get(&key).filter(|_| is_news) else { return };
        let (id, leader) = (followed.partition.id(), self.leader);
        tracing::warn!(
            "the replica of {id} falls behind broker {leader}, its leader: {stop}; trying again"
        );
    }

    /// Ends the pauses of a replica, which has taken an answer.
    fn fetched(&mut self, key: PartitionKey) {
        self.stale.insert(key);
        let was_reported = self.pauses.fetched(&key);
        if let Some(followed) = self.partitions.get(&key).filter(|_| was_reported) {
            tracing::info!("the replica of {} is fetched again", followed.partition.id());
        }
    }
}

/// The reason why a replica is not fetched for a while.
enum Stop {
    /// The leader's answer for the replica cannot be applied.
    Refused(Refusal),
    /// This broker could not open or write the replica's log.
    Local(FollowerError),
    /// The records that were fetched last are not flushed yet.
    Unstored,
}

impl Stop {
    fn is_gap(&self) -> bool {
        matches!(self, Self::Local(error) if error.is_gap())
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Refused(Refusal::OutdatedMetadata(_)) => Fault::OutdatedMetadata,
            Self::Local(error) if error.ends_epoch() => Fault::OutdatedMetadata,
            Self::Unstored => Fault::SlowFlush,
            Self::Refused(_) | Self::Local(_) => Fault::Lasting,
        }
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Local(error) => WithCauses(error).fmt(f),
            Self::Unstored => f.write_str("its last records are not flushed yet"),
        }
    }
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use tokio::time::Instant;

    use super::*;
    use crate::io::failed_sync;
    use crate::replication::Pair;
    use crate::types::{PartitionIndex, TopicId};

    #[test]
    fn a_failed_sync_of_a_replica_ends_the_engine_and_another_failure_pauses_the_replica() {
        let failure = Arc::new(Failure::default());
        let pause = Duration::from_secs(2);
        let mut replicas = Replicas::new(BrokerId(1), pause, Arc::clone(&failure));
        let key = PartitionKey { topic: TopicId([1; 16]), index: PartitionIndex(0) };
        let error = |source| Err(PartitionError::of_sync("/data/t-0", source));
        replicas.note_position(key, error(Errno::EIO.into()), Duration::ZERO);
        assert_eq!(failure.reason(), None);
        assert_eq!(replicas.next_due(Duration::ZERO), Some(pause));
        replicas.note_position(key, error(failed_sync(Errno::EIO.into())), Duration::ZERO);
        assert!(failure.reason().unwrap().contains("cannot sync '/data/t-0'"));
        assert!(failure.stopping.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_replica_whose_flush_does_not_end_holds_up_no_other() {
        let pause = Duration::from_secs(1);
        let mut replicas = Replicas::new(BrokerId(0), pause, Arc::default());
        let (stalled, sound) = (Pair::new(), Pair::new());
        stalled.append();
        stalled.fetch();
        let key = |id| PartitionKey { topic: TopicId([id; 16]), index: PartitionIndex(0) };
        let due = vec![(key(1), stalled.follower()), (key(2), sound.follower())];
        for limit in [pause, Duration::ZERO] {
            let began = Instant::now();
            let stored = replicas.stored(due.clone(), Duration::ZERO).await;
            assert_eq!(stored.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [key(2)]);
            assert!(began.elapsed() <= limit + Duration::from_millis(1), "it is waited for again");
            assert!(replicas.pauses.is_paused(&key(1), Duration::ZERO));
        }
    }
}
