//! A follower whose disk fails at any call while it removes records that its leader's log lacks.

use std::sync::Arc;

use super::schedule_tests::{Broker, NOW, member, replica};
use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Clock, ManualClock, MemoryDisk, read_exact_at};
use crate::metadata::{Caching, IsrMember};
use crate::record::{BatchBuilder, BatchSettings, Compressor};
use crate::replication::{
    Acks, Assignment, FetchAnswer, FetchOutcome, FollowerError, InSyncState, Partition,
    PartitionError, Predecessors, ReadRequest, Reader, Rules, Target,
};
use crate::storage::HighWatermarks;
use crate::types::{BrokerId, LeaderEpoch, Offset};

/// The number of records of both logs, one in each batch.
pub(super) const RECORDS: i64 = 20;
/// The end of the records that the follower keeps if the logs diverge.
pub(super) const COMMON: i64 = 3;
/// The offset at which the leader's log begins if it has none of the follower's records.
const LATER: i64 = 70;

/// A leader and a follower with the same records.
pub(crate) struct Pair {
    pub(super) leader: Broker,
    pub(super) follower: Broker,
    clock: Arc<ManualClock>,
}

/// The reason for which the follower removes records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The logs diverge.
    Diverging,
    /// The leader has removed all records that the follower has.
    OutOfRange,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::at(NOW));
        let start = |id: i32| {
            let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
            let broker = Broker::start(disk, &clock, (BrokerId(id), i64::from(id)));
            // The test flushes itself, so that each run makes the same calls.
            broker.logs.flusher.stop();
            broker.logs.upkeep.stop();
            broker
        };
        let (leader, follower) = (start(0), start(1));
        let pair = Self { leader, follower, clock };
        pair.begin_epoch(0);
        pair.append();
        while pair.follower_end() < RECORDS {
            pair.fetch();
        }
        pair.follower.flush();
        pair.follower.logs.data.checkpoint(&HighWatermarks::new()).unwrap();
        pair.begin_epoch(1);
        pair
    }

    /// Records a high watermark of the follower.
    pub(super) fn record_watermark(&self, offset: Offset) {
        let log = (self.follower.partition.id().clone(), self.follower.partition.topic_id());
        self.follower.logs.data.checkpoint(&HighWatermarks::from([(log, offset)])).unwrap();
    }

    /// Begins a leader epoch with both brokers in sync.
    pub(super) fn begin_epoch(&self, epoch: i32) {
        self.tell_epoch(epoch);
        for broker in [&self.leader, &self.follower] {
            broker.partition.open().unwrap();
        }
    }

    /// As `begin_epoch`, without using the logs.
    pub(super) fn tell_epoch(&self, epoch: i32) {
        let members = vec![member(&self.leader), member(&self.follower)];
        let in_sync = InSyncState {
            members,
            minimum: 2,
            has_eligible: false,
            is_unvouched: false,
            version: epoch,
        };
        for broker in [&self.leader, &self.follower] {
            self.tell(broker, LeaderEpoch(epoch), in_sync.clone());
        }
    }

    /// Lets the leader learn that it is the only in-sync member of an epoch, with this minimum.
    pub(super) fn lead_alone(&self, epoch: LeaderEpoch, minimum: usize) {
        self.assign(&self.leader, epoch, self.alone(epoch, minimum));
    }

    /// Lets the leader learn that it was elected after the wait for others, and is not believed.
    pub(super) fn lead_unvouched(&self, epoch: LeaderEpoch) {
        let unvouched =
            InSyncState { has_eligible: true, is_unvouched: true, ..self.alone(epoch, 1) };
        self.assign(&self.leader, epoch, unvouched);
    }

    fn alone(&self, epoch: LeaderEpoch, minimum: usize) -> InSyncState {
        let (members, version) = (vec![member(&self.leader)], epoch.0);
        InSyncState { members, minimum, has_eligible: false, is_unvouched: false, version }
    }

    fn assign(&self, broker: &Broker, epoch: LeaderEpoch, in_sync: InSyncState) {
        self.tell(broker, epoch, in_sync);
        broker.partition.open().unwrap();
    }

    fn tell(&self, broker: &Broker, epoch: LeaderEpoch, in_sync: InSyncState) {
        broker.partition.assign(self.assignment(broker, epoch, in_sync), self.clock.monotonic());
    }

    fn assignment(&self, broker: &Broker, epoch: LeaderEpoch, in_sync: InSyncState) -> Assignment {
        Assignment {
            lease: None,
            floor_epoch: LeaderEpoch::NONE,
            epoch,
            leader: Some(self.leader.id),
            leader_incarnation: self.leader.incarnation,
            incarnation: broker.incarnation,
            in_sync,
            caching: Caching::Off,
            predecessors: Predecessors::default(),
        }
    }

    /// The floor with which the follower begins to follow in an epoch, in a partition that caches
    /// like this, and in which only records from `floor_epoch` on give floors.
    pub(super) fn floor(&self, epoch: i32, caching: Caching, floor_epoch: i32) -> Offset {
        let epoch = LeaderEpoch(epoch);
        let assignment = self.assignment(&self.follower, epoch, self.alone(epoch, 1));
        let floor_epoch = LeaderEpoch(floor_epoch);
        let assignment = Assignment { floor_epoch, caching, ..assignment };
        self.follower.partition.assign(assignment, self.clock.monotonic());
        self.follower.partition.follower_position().unwrap().unwrap().position.floor.offset
    }

    /// Another partition that the follower follows in epoch 1, with the leader's records.
    pub(super) fn another(&self, number: i32) -> Arc<Partition> {
        let Broker { logs, id, .. } = &self.follower;
        let partition = replica(number, logs, *id, Rules::ALL);
        let epoch = LeaderEpoch(1);
        let assignment = self.assignment(&self.follower, epoch, self.alone(epoch, 1));
        partition.assign(assignment, self.clock.monotonic());
        let position = partition.follower_position().unwrap().unwrap().position;
        let (outcome, offset) = (FetchOutcome::Records, Offset::ZERO);
        let answer = FetchAnswer { position, outcome, high_watermark: offset, log_start: offset };
        let records = self.leader.bytes_below(Offset::new(RECORDS));
        partition.take_fetched(&answer, &records).unwrap();
        partition.log().unwrap().flush().unwrap();
        partition
    }

    /// The leader's partition.
    pub(crate) fn leader(&self) -> Arc<Partition> {
        Arc::clone(&self.leader.partition)
    }

    /// The follower's partition.
    pub(crate) fn follower(&self) -> Arc<Partition> {
        Arc::clone(&self.follower.partition)
    }

    pub(crate) fn append(&self) {
        self.leader.partition.lead().unwrap();
        for value in 0..RECORDS {
            self.try_append(value).unwrap();
        }
        self.leader.flush();
    }

    /// Lets the leader append a number.
    pub(super) fn try_append(&self, value: i64) -> Result<(), PartitionError> {
        append_to(&self.leader.partition, value).map(drop)
    }

    /// Lets the follower learn that it leads an epoch with both brokers in sync, without using its
    /// log.
    pub(super) fn follower_leads(&self, epoch: LeaderEpoch) {
        self.lead_by_follower(epoch, vec![member(&self.leader), member(&self.follower)]);
    }

    fn lead_by_follower(&self, epoch: LeaderEpoch, members: Vec<IsrMember>) {
        let state = InSyncState { members, ..self.alone(epoch, 1) };
        let assignment = Assignment {
            leader: Some(self.follower.id),
            leader_incarnation: self.follower.incarnation,
            ..self.assignment(&self.follower, epoch, state)
        };
        self.follower.partition.assign(assignment, self.clock.monotonic());
    }

    /// Lets the follower lead alone in an epoch, in which it commits a record. Returns the
    /// condition of its acknowledgement.
    pub(super) fn follower_commits(&self, epoch: LeaderEpoch) -> Target {
        let partition = &self.follower.partition;
        self.lead_by_follower(epoch, vec![member(&self.follower)]);
        partition.lead().unwrap();
        let next_offset = append_to(partition, 7).unwrap();
        self.follower.flush();
        partition.flushed(next_offset);
        Target { epoch, next_offset, acks: Acks::All }
    }

    pub(super) fn follower_end(&self) -> i64 {
        self.follower.log().map_or(0, |log| log.log_end_offset().get())
    }

    /// Takes an answer with this outcome to the follower's next fetch.
    fn take(
        &self,
        outcome: FetchOutcome,
        (log_start, records): (i64, &[u8]),
    ) -> Result<(), FollowerError> {
        let next = self.follower.partition.follower_position()?.unwrap();
        let (position, log_start) = (next.position, Offset::new(log_start));
        let high_watermark = Offset::ZERO;
        let answer = FetchAnswer { position, outcome, high_watermark, log_start };
        self.follower.partition.take_fetched(&answer, records)
    }

    /// Lets the follower fetch the leader's records from its log end on.
    pub(crate) fn fetch(&self) {
        self.try_fetch().unwrap();
    }

    /// As `fetch`, with the error of the follower.
    pub(super) fn try_fetch(&self) -> Result<(), FollowerError> {
        let read = self.leader.partition.read(ReadRequest {
            reader: Reader::Follower,
            offset: self.follower_end(),
            max_bytes: 300,
            at_least_one_batch: true,
            shows_gap: false,
        });
        let range = read.unwrap().records.unwrap();
        let mut records = vec![0; usize::try_from(range.length).unwrap()];
        read_exact_at(&*range.file, &mut records, range.position).unwrap();
        self.take(FetchOutcome::Records, (0, &records))
    }

    /// Lets the follower learn that it has records that the leader lacks.
    pub(super) fn remove(&self, reason: Reason) -> Result<(), FollowerError> {
        let (outcome, log_start) = match reason {
            Reason::Diverging => {
                let end = Offset::new(COMMON);
                (FetchOutcome::Diverging { epoch: LeaderEpoch(0), end }, 0)
            }
            Reason::OutOfRange => (FetchOutcome::OutOfRange, LATER),
        };
        self.take(outcome, (log_start, &[]))
    }

    /// Checks that the follower has removed the right records, and can fetch again.
    pub(super) fn check(&self, reason: Reason) {
        let log = self.follower.log().unwrap();
        let bounds = (log.log_start_offset().get(), log.log_end_offset().get());
        assert!(log.checks().damages().is_empty(), "{:?}", log.checks().damages());
        if reason == Reason::OutOfRange {
            assert_eq!(bounds, (LATER, LATER));
            return;
        }
        assert_eq!(bounds, (0, COMMON));
        while self.follower_end() < RECORDS {
            self.fetch();
        }
        self.follower.flush();
        let end = Offset::new(RECORDS);
        assert_eq!(self.follower.log().unwrap().flushed_offset(), end);
        assert!(self.follower.bytes_below(end) == self.leader.bytes_below(end));
    }

    /// Stops the follower in order, and checks that the next start finds its log as it was.
    fn check_restart(&self) {
        let log = self.follower.log().unwrap();
        let bounds = (log.log_start_offset(), log.log_end_offset());
        let high_watermarks = HighWatermarks::new();
        self.follower.logs.data.close(&high_watermarks).unwrap();
        self.follower.logs.data.unlock();
        let disk = self.follower.disk.clone();
        let again = Broker::start(disk, &self.clock, (self.follower.id, 9));
        again.partition.open().unwrap();
        let log = again.log().unwrap();
        assert_eq!((log.log_start_offset(), log.log_end_offset()), bounds);
        assert!(log.checks().damages().is_empty(), "{:?}", log.checks().damages());
        again.stop();
    }
}

/// Lets a leader append a number, and returns the offset after it.
fn append_to(leader: &Partition, value: i64) -> Result<Offset, PartitionError> {
    let mut builder = BatchBuilder::new();
    builder.push(NOW, None, Some(&value.to_be_bytes()), &[]).unwrap();
    let mut batch = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
    let appended = leader.append(leader.epoch(), &mut [&mut batch], Acks::All, NOW)?;
    Ok(appended[0].as_ref().unwrap().next_offset)
}

/// Lets each call of an operation fail in turn while a follower removes records, and passes each
/// result to `check`.
fn at_every_call(
    (operation, failure): (Operation, Failure),
    reason: Reason,
    mut check: impl FnMut(&Pair, Result<(), FollowerError>),
) {
    for call in 1.. {
        let pair = Pair::new();
        let disk = &pair.follower.disk;
        let before = disk.calls(operation);
        disk.inject(Fault::new(operation, failure).at_call(call));
        let removed = pair.remove(reason);
        let is_over = disk.calls(operation) - before < call;
        disk.clear_faults();
        println!("{reason:?}: call {call} of {operation:?} fails by {failure:?}: {removed:?}");
        check(&pair, removed);
        pair.leader.stop();
        pair.follower.stop();
        if is_over {
            return;
        }
    }
}

#[test]
fn a_truncation_that_the_disk_refuses_is_made_once_the_disk_works() {
    let (failed, full) = (Failure::InputOutput, Failure::NoSpace);
    let faults = [
        (Operation::Open, failed),
        (Operation::Read, failed),
        (Operation::Write, failed),
        (Operation::Write, full),
        (Operation::SetLen, failed),
        (Operation::Rename, failed),
        (Operation::Remove, failed),
        (Operation::Look, failed),
        (Operation::SyncData, Failure::TooManyOpenFiles),
        (Operation::SyncDir, Failure::TooManyOpenFiles),
    ];
    for reason in [Reason::Diverging, Reason::OutOfRange] {
        let mut refused = 0;
        for fault in faults {
            at_every_call(fault, reason, |pair, removed| {
                if let Err(error) = removed {
                    assert!(!error.leaves_disk_unknown(), "{error}");
                    refused += 1;
                    // A checkpoint that is written meanwhile must not mislead the recovery.
                    pair.follower.logs.data.checkpoint(&HighWatermarks::new()).unwrap();
                    pair.remove(reason).unwrap();
                }
                pair.check(reason);
                pair.check_restart();
            });
        }
        assert!(refused > 10, "only {refused} truncations were refused");
    }
}

#[test]
fn a_log_waits_for_the_disk_and_its_recovery_is_tried_again() {
    let pair = Pair::new();
    let disk = &pair.follower.disk;
    disk.inject(Fault::new(Operation::SetLen, Failure::InputOutput).on(".log").for_ever());
    pair.remove(Reason::Diverging).unwrap_err();
    disk.inject(Fault::new(Operation::Look, Failure::InputOutput).for_ever());
    disk.inject(Fault::new(Operation::Open, Failure::InputOutput).for_ever());
    for _ in 0..3 {
        pair.follower.partition.follower_position().unwrap_err();
    }
    disk.clear_faults();
    pair.remove(Reason::Diverging).unwrap();
    pair.check(Reason::Diverging);
    pair.leader.stop();
    pair.follower.stop();
}

#[test]
fn a_truncation_whose_sync_fails_is_left_to_a_restart() {
    for reason in [Reason::Diverging, Reason::OutOfRange] {
        for operation in [Operation::SyncData, Operation::SyncDir] {
            let mut refused = 0;
            at_every_call((operation, Failure::InputOutput), reason, |_, removed| {
                let Err(error) = removed else { return };
                assert!(error.leaves_disk_unknown(), "{error}");
                refused += 1;
            });
            assert!(refused > 1, "only {refused} calls of {operation:?} failed");
        }
    }
}

#[test]
fn a_log_that_is_half_truncated_when_the_broker_stops_is_recovered_by_the_next_start() {
    for reason in [Reason::Diverging, Reason::OutOfRange] {
        let pair = Pair::new();
        let disk = pair.follower.disk.clone();
        disk.inject(Fault::new(Operation::Remove, Failure::InputOutput).at_call(2).for_ever());
        pair.remove(reason).unwrap_err();
        disk.clear_faults();
        pair.follower.logs.data.close(&HighWatermarks::new()).unwrap();
        pair.follower.logs.data.unlock();
        let again = Broker::start(disk, &pair.clock, (pair.follower.id, 9));
        assert_eq!(again.logs.data.start_report().recovered, 1);
        again.partition.open().unwrap();
        let log = again.log().unwrap();
        assert!(log.checks().damages().is_empty(), "{:?}", log.checks().damages());
        assert!(log.log_end_offset() <= Offset::new(RECORDS), "{log:?}");
        again.stop();
        pair.leader.stop();
    }
}
