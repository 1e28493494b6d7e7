//! A log under successive leader epochs, and a log that is removed while an epoch begins.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use streamlog::config::ByteSize;
use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Clock, Disk, ManualClock, MemoryDisk, Share, SystemClock, World};
use streamlog::metadata::{Caching, Incarnation, IsrMember, Lease};
use streamlog::replication::{
    Acks, Assignment, CountedFetch, Deletion, FetchPosition, FetchingReplica, Floor,
    HandOverProgress, InSyncState, LocalLogs, NotLeading, Partition, PartitionError, PartitionSpec,
    Predecessors, ReadRequest, Reader, Role, Rules, Target,
};
use streamlog::storage::{
    AppendAt, DataDir, DataDirOptions, FlushListener, Flusher, FlusherOptions, HighWatermarks,
    LogConfig, OffsetUnit, Opener, PartitionMetadata, ProducerLimits, StorageError, Upkeep,
    UpkeepListener, UpkeepOptions,
};
use streamlog::types::{
    BrokerId, LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId, TopicPartition,
};
use tokio::sync::Notify;

use crate::support::batch;

const ID: TopicId = TopicId([7; 16]);

fn id() -> TopicPartition {
    TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) }
}

fn logs(disk: &FaultyDisk) -> LocalLogs {
    logs_by(disk, &(Arc::new(SystemClock) as Arc<dyn Clock>))
}

fn logs_by(disk: &FaultyDisk, clock: &Arc<dyn Clock>) -> LocalLogs {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let options = DataDirOptions {
        opener: Opener { cluster_id: None, broker_id: BrokerId(1) },
        boot_id: "boot".to_owned(),
        configs: Arc::new(|_, _| Arc::default()),
        producers: ProducerLimits::default(),
        recovery_threads: 1,
        keep_deleted: Duration::ZERO,
        open_files: Share::OfProcess,
    };
    let path = Path::new("/data");
    let world = World { disk, clock: Arc::clone(clock) };
    let data = Arc::new(DataDir::open(world.clone(), path, options).unwrap());
    let quiet = FlushListener { on_flushed: Box::new(|_| ()), on_fatal: Box::new(|_| ()) };
    let flusher = Flusher::start(world, path, FlusherOptions::default(), quiet).unwrap();
    let high_watermarks = Box::new(HighWatermarks::new);
    let quiet = UpkeepListener { high_watermarks, on_fatal: Box::new(|_| ()) };
    let (shared, clock) = (Arc::clone(&data), Arc::clone(clock));
    let upkeep = Upkeep::start(shared, clock, UpkeepOptions::default(), quiet).unwrap();
    LocalLogs { data, flusher: Arc::new(flusher), upkeep: Arc::new(upkeep) }
}

fn lead(logs: &LocalLogs, epoch: LeaderEpoch) -> Arc<Partition> {
    lead_with(logs, epoch, LogConfig::default())
}

fn lead_with(logs: &LocalLogs, epoch: LeaderEpoch, config: LogConfig) -> Arc<Partition> {
    let spec = PartitionSpec {
        partition: id(),
        topic_id: ID,
        state_created: 0,
        broker: BrokerId(1),
        config: Arc::new(config),
        rules: Rules::ALL,
    };
    let partition = Partition::new(spec, Arc::new(logs.clone()));
    partition.assign(led_by(1, epoch, &[1]), Duration::ZERO);
    partition
}

/// A broker leads with these replicas in sync, a minimum of two or all of them, and the epoch as
/// the version of the state.
fn led_by(leader: i32, epoch: LeaderEpoch, in_sync: &[i32]) -> Assignment {
    let incarnation = |broker: i32| Incarnation(i64::from(broker));
    let member =
        |broker: &i32| IsrMember { broker: BrokerId(*broker), incarnation: incarnation(*broker) };
    let members: Vec<_> = in_sync.iter().map(member).collect();
    let minimum = members.len().min(2);
    Assignment {
        lease: None,
        floor_epoch: LeaderEpoch::NONE,
        epoch,
        leader: Some(BrokerId(leader)),
        leader_incarnation: incarnation(leader),
        incarnation: incarnation(1),
        in_sync: InSyncState {
            members,
            minimum,
            has_eligible: false,
            is_unvouched: false,
            version: epoch.0,
        },
        caching: Caching::Off,
        predecessors: Predecessors { have_finished: true, ..Predecessors::default() },
    }
}

/// Appends a record in the current epoch, and returns the condition of its acknowledgement.
fn append(partition: &Arc<Partition>, acks: Acks) -> Target {
    partition.lead().unwrap();
    let (epoch, mut batch) = (partition.epoch(), batch([7]));
    let outcomes = partition.append(epoch, &mut [&mut batch], acks, SystemClock.now()).unwrap();
    let next_offset = outcomes[0].as_ref().unwrap().next_offset;
    Target { epoch, next_offset, acks }
}

fn in_memory() -> LocalLogs {
    logs(&FaultyDisk::new(Arc::new(MemoryDisk::default()), 1))
}

#[test]
fn a_partition_keeps_its_log_through_its_leader_epochs() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    for epoch in [1, 2] {
        partition.assign(led_by(1, LeaderEpoch(epoch), &[1]), Duration::ZERO);
        append(&partition, Acks::All);
        partition.log().unwrap().flush().unwrap();
        assert_eq!(partition.high_watermark(), Offset::new(epoch.into()));
    }
    let starts = partition.log().unwrap().epochs().entries().unwrap();
    let starts: Vec<_> = starts.iter().map(|entry| (entry.epoch.0, entry.start.get())).collect();
    assert_eq!(starts, [(1, 0), (2, 1)]);
}

#[test]
fn an_earlier_epoch_ends_with_the_log_until_the_current_one_has_records() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    append(&partition, Acks::All);
    partition.assign(led_by(1, LeaderEpoch(4), &[1]), Duration::ZERO);
    let end = |epoch| partition.epoch_end(LeaderEpoch(epoch)).unwrap();
    let known = |epoch| Some((LeaderEpoch(epoch), Offset::new(1)));
    assert_eq!([1, 3, 4].map(end), [known(1), known(1), known(4)]);
    assert_eq!([-1, 5].map(end), [None; 2], "no epoch, and one to come");
}

#[test]
fn an_earlier_assignment_changes_nothing() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(3));
    partition.assign(led_by(2, LeaderEpoch(2), &[1, 2]), Duration::ZERO);
    assert_eq!((partition.role(), partition.epoch()), (Role::Leader, LeaderEpoch(3)));
}

#[test]
fn a_new_leader_answers_no_client_until_its_fetches_prove_nothing_to_others() {
    let logs = in_memory();
    let clock = Arc::new(ManualClock::default());
    let at = Duration::from_millis;
    let lease = Arc::new(Lease::unlimited(Arc::<ManualClock>::clone(&clock)));
    let asked = |partition: &Partition, epoch| {
        partition.assign(led_by(2, LeaderEpoch(epoch), &[1, 2]), clock.monotonic());
        assert!(partition.note_asking(LeaderEpoch(epoch), clock.monotonic()));
    };
    let elected = |partition: &Partition, epoch, predecessors| {
        let assignment = led_by(1, LeaderEpoch(epoch), &[1, 2]);
        let lease = Some(Arc::clone(&lease));
        let assignment = Assignment { lease, predecessors, ..assignment };
        partition.assign(assignment, clock.monotonic());
    };
    let is_silent = |partition: &Partition| match partition.check_may_answer() {
        Ok(()) => false,
        Err(PartitionError::NotLeader(NotLeading::Silent)) => true,
        Err(error) => panic!("{error}"),
    };
    let ended = |number| {
        let leader = IsrMember { broker: BrokerId(2), incarnation: Incarnation(number) };
        Predecessors { ended: vec![leader], ..Predecessors::default() }
    };
    let partition = lead(&logs, LeaderEpoch(1));
    clock.advance(at(10_000));
    asked(&partition, 2);
    clock.advance(at(500));
    elected(&partition, 3, ended(1));
    assert!(!partition.note_asking(LeaderEpoch(2), clock.monotonic()), "the epoch is over");
    for (pause, silent) in [(0, true), (1_499, true), (1, false)] {
        clock.advance(at(pause));
        assert_eq!(is_silent(&partition), silent);
    }
    asked(&partition, 4);
    elected(&partition, 5, ended(2));
    assert!(!is_silent(&partition), "the leader before is known to have ended");
    asked(&partition, 6);
    elected(&partition, 7, Predecessors { have_finished: true, ..Predecessors::default() });
    assert!(!is_silent(&partition), "the leader before has handed over");
}

#[test]
fn a_leader_without_a_lease_answers_on_proof_unless_the_store_has_ended_its_session() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    let clock = Arc::new(ManualClock::default());
    let began = clock.monotonic();
    let replica = |broker, follows| FetchingReplica {
        broker: BrokerId(broker),
        incarnation: Incarnation(broker.into()),
        registered: Some(Incarnation(broker.into())),
        follows,
    };
    for (epoch, ends) in [(2, false), (3, true)] {
        let shared = Arc::<ManualClock>::clone(&clock);
        let timeout = Duration::from_secs(6);
        let lease = if ends { Lease::ended(shared) } else { Lease::begin(shared, began, timeout) };
        let lease = Arc::new(lease);
        let leased = Assignment { lease: Some(lease), ..led_by(1, LeaderEpoch(epoch), &[1, 2]) };
        partition.assign(leased, clock.monotonic());
        clock.advance(timeout);
        let now = clock.monotonic();
        assert!(partition.check_may_answer().is_err(), "nobody has proved anything");
        let position = FetchPosition {
            epoch: LeaderEpoch(epoch),
            offset: Offset::ZERO,
            last_epoch: LeaderEpoch::NONE,
            flushed: Offset::ZERO,
            floor: Floor::default(),
        };
        partition.lead().unwrap();
        partition.follower_fetched(replica(2, Some(now)), &position, now).unwrap();
        assert_eq!(partition.check_may_answer().is_ok(), !ends);
        clock.advance(Duration::from_millis(1_500));
        assert!(partition.check_may_answer().is_err(), "the proof is over");
    }
}

#[test]
fn a_leader_whose_lease_has_run_out_answers_followers_and_no_clients() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    let clock = Arc::new(ManualClock::default());
    let session_timeout = Duration::from_secs(6);
    let lease = Lease::begin(Arc::<ManualClock>::clone(&clock), Duration::ZERO, session_timeout);
    let leased = Assignment { lease: Some(Arc::new(lease)), ..led_by(1, LeaderEpoch(2), &[1, 2]) };
    partition.assign(leased, Duration::ZERO);
    let target = append(&partition, Acks::All);
    let waiting = Arc::new(Notify::new());
    let _registration = partition.wait_beyond(Offset::ZERO, &waiting);
    partition.check_may_answer().unwrap();

    clock.advance(session_timeout * 2 / 3);
    let is_unleased = |error| matches!(error, PartitionError::NotLeader(NotLeading::NoLease));
    assert!(is_unleased(partition.check_may_answer().unwrap_err()));
    assert!(is_unleased(partition.check_may_answer_in(target.epoch).unwrap_err()));
    fetch(&partition, 2, Offset::ZERO);
    partition.lease_ended();
    assert!(is_woken(&waiting), "a request waits on without an answer");

    partition.assign(led_by(1, LeaderEpoch(3), &[1]), Duration::ZERO);
    partition.check_may_answer().unwrap();
}

/// Counts a fetch of a follower that has flushed all records below an offset.
fn fetch(partition: &Partition, follower: i32, offset: Offset) {
    let (broker, incarnation) = (BrokerId(follower), Incarnation(follower.into()));
    let replica =
        FetchingReplica { broker, incarnation, registered: Some(incarnation), follows: None };
    let epoch = partition.epoch();
    let last_epoch = if offset == Offset::ZERO { LeaderEpoch::NONE } else { epoch };
    let floor = Floor::default();
    let position = FetchPosition { epoch, offset, last_epoch, flushed: offset, floor };
    let counted = partition.follower_fetched(replica, &position, Duration::ZERO).unwrap();
    assert!(matches!(counted, CountedFetch::Counted { .. }), "{counted:?}");
}

/// Returns true if a waiting request was woken.
fn is_woken(wake: &Notify) -> bool {
    let mut waiting = pin!(wake.notified());
    waiting.as_mut().enable()
}

#[test]
fn a_broker_does_not_lead_as_another_incarnation_than_the_elected_one() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    let earlier = Incarnation(0);
    let assignment = Assignment { leader_incarnation: earlier, ..led_by(1, LeaderEpoch(2), &[1]) };
    partition.assign(assignment, Duration::ZERO);
    assert_eq!(partition.role(), Role::Follower { leader: None });
    assert!(matches!(partition.lead(), Err(PartitionError::NotLeader(NotLeading::NoLeader))));
}

#[test]
fn requests_hear_which_broker_leads_instead() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    let target = append(&partition, Acks::All);
    partition.assign(led_by(2, LeaderEpoch(2), &[1, 2]), Duration::ZERO);

    let is_led_elsewhere = |error: PartitionError| {
        matches!(error, PartitionError::NotLeader(NotLeading::LedBy(BrokerId(2))))
    };
    assert!(is_led_elsewhere(partition.may_acknowledge(target).unwrap_err()));
    assert!(is_led_elsewhere(partition.check_epoch(LeaderEpoch::NONE).unwrap_err()));
    assert!(is_led_elsewhere(partition.lead().unwrap_err()));
    let request = ReadRequest {
        reader: Reader::Consumer,
        offset: 0,
        max_bytes: 1 << 20,
        at_least_one_batch: true,
        shows_gap: false,
    };
    assert!(is_led_elsewhere(partition.read(request).unwrap_err()));
    let mut late = batch([7]);
    let outcome = partition.append(target.epoch, &mut [&mut late], Acks::All, SystemClock.now());
    assert!(is_led_elsewhere(outcome.unwrap_err()));
    let at = AppendAt { epoch: target.epoch, now: SystemClock.now() };
    let error = partition.log().unwrap().append(&mut [&mut late], at).unwrap_err();
    assert!(matches!(error, StorageError::EpochMismatch { .. }), "{error}");
}

#[test]
fn a_record_of_an_ended_epoch_is_not_acknowledged_by_a_later_watermark() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    let target = append(&partition, Acks::All);
    for (leader, epoch) in [(2, 2), (1, 3)] {
        partition.assign(led_by(leader, LeaderEpoch(epoch), &[1]), Duration::ZERO);
    }
    partition.log().unwrap().flush().unwrap();
    assert!(partition.high_watermark() >= target.next_offset);
    let error = partition.may_acknowledge(target).unwrap_err();
    assert!(matches!(error, PartitionError::EpochEnded { .. }), "{error}");
}

#[test]
fn a_former_leader_acknowledges_what_its_watermark_has_covered() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    let committed = append(&partition, Acks::All);
    partition.log().unwrap().flush().unwrap();
    let mut joined = led_by(1, LeaderEpoch(1), &[1, 2]);
    joined.in_sync.version += 1;
    partition.assign(joined, Duration::ZERO);
    let appended = append(&partition, Acks::All);
    let stored = Target { acks: Acks::Leader, ..appended };
    partition.log().unwrap().flush().unwrap();
    assert!(partition.may_acknowledge(stored).unwrap());

    for (leader, epoch) in [(2, 2), (1, 3)] {
        partition.assign(led_by(leader, LeaderEpoch(epoch), &[leader]), Duration::ZERO);
        partition.open().unwrap();
        assert!(partition.may_acknowledge(committed).unwrap());
        assert!(partition.may_acknowledge(Target { acks: Acks::Leader, ..committed }).unwrap());
        for target in [appended, stored] {
            assert!(partition.may_acknowledge(target).unwrap_err().ends_epoch());
        }
    }
    assert!(partition.high_watermark() >= appended.next_offset);
}

#[test]
fn records_that_are_committed_are_acknowledged_while_their_leader_hands_over() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    partition.assign(led_by(1, LeaderEpoch(2), &[1, 2]), Duration::ZERO);
    let target = append(&partition, Acks::All);
    partition.log().unwrap().flush().unwrap();
    fetch(&partition, 2, target.next_offset);
    assert!(partition.begin_hand_over(BrokerId(2), Duration::ZERO).unwrap());
    let progress = partition.continue_hand_over(Duration::ZERO);
    assert!(matches!(progress, HandOverProgress::Ask(_)), "{progress:?}");
    partition.check_may_answer().unwrap_err();
    assert!(partition.may_acknowledge(target).unwrap());
}

#[test]
fn the_watermark_waits_for_the_other_in_sync_replicas() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    append(&partition, Acks::All);
    partition.log().unwrap().flush().unwrap();
    partition.assign(led_by(1, LeaderEpoch(2), &[1, 2]), Duration::ZERO);
    assert!(partition.latest().is_ok(), "all records were replicated before");
    let stored = append(&partition, Acks::Leader);
    let replicated = Target { acks: Acks::All, ..stored };
    partition.log().unwrap().flush().unwrap();
    assert!(partition.may_acknowledge(stored).unwrap());
    assert!(!partition.may_acknowledge(replicated).unwrap());
    assert_eq!(partition.high_watermark(), Offset::new(1));

    // A new leader does not know whether the second record was shown to anyone.
    partition.assign(led_by(1, LeaderEpoch(3), &[1, 2]), Duration::ZERO);
    let error = partition.latest().unwrap_err();
    assert!(matches!(error, PartitionError::OffsetNotAvailable { .. }), "{error}");
    let mut alone = led_by(1, LeaderEpoch(3), &[1]);
    alone.in_sync.version += 1;
    partition.assign(alone, Duration::ZERO);
    assert_eq!(partition.latest().unwrap().offset, Offset::new(2));
}

#[test]
fn a_replica_that_opens_its_log_knows_the_recorded_watermark() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    for _ in 0..3 {
        append(&partition, Acks::All);
    }
    partition.log().unwrap().flush().unwrap();
    logs.data.checkpoint(&HighWatermarks::from([((id(), ID), Offset::new(2))])).unwrap();

    let again = Partition::new(
        PartitionSpec {
            partition: id(),
            topic_id: ID,
            state_created: 0,
            broker: BrokerId(1),
            config: Arc::default(),
            rules: Rules::ALL,
        },
        Arc::new(logs.clone()),
    );
    again.assign(led_by(1, LeaderEpoch(2), &[1, 2]), Duration::ZERO);
    again.open().unwrap();
    assert_eq!(again.high_watermark(), Offset::new(2));
}

#[test]
fn records_are_refused_while_too_few_replicas_are_in_sync() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    assert!(partition.check_minimum().is_ok());
    let mut alone = led_by(1, LeaderEpoch(2), &[1]);
    alone.in_sync.minimum = 2;
    partition.assign(alone, Duration::ZERO);
    let error = partition.check_minimum().unwrap_err();
    assert_eq!(error.to_string(), "1 in-sync replicas, but min.insync.replicas is 2; retry later");
    let stored = append(&partition, Acks::Leader);
    partition.log().unwrap().flush().unwrap();
    assert!(partition.may_acknowledge(stored).unwrap(), "acks=1 needs no other replica");
    assert_eq!(partition.high_watermark(), Offset::ZERO);
}

#[test]
fn a_change_of_the_role_wakes_those_that_wait() {
    let logs = in_memory();
    let partition = lead(&logs, LeaderEpoch(1));
    let wake = Arc::new(Notify::new());
    let registration = partition.wait_beyond(Offset::new(5), &wake);
    partition.assign(led_by(2, LeaderEpoch(2), &[1, 2]), Duration::ZERO);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(wake.notified());
    drop(registration);
}

#[test]
fn a_log_is_not_removed_while_a_leader_epoch_is_recorded() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let logs = logs(&disk);
    let metadata = PartitionMetadata { topic_id: ID, offset_unit: OffsetUnit::Record };
    logs.data.create_log(&id(), metadata).unwrap();
    let partition = lead(&logs, LeaderEpoch(1));

    let hold = disk.hold_sync();
    let leading = thread::spawn(move || partition.lead());
    assert!(hold.wait_for(1, Duration::from_secs(10)), "the leader epoch is not recorded");
    let data = Arc::clone(&logs.data);
    let removing = thread::spawn(move || data.remove_log(&id(), ID));
    thread::sleep(Duration::from_millis(100));
    assert!(disk.exists(Path::new("/data/t-0")).unwrap(), "it was moved away meanwhile");
    drop(hold);
    leading.join().unwrap().unwrap();
    removing.join().unwrap().unwrap();
    assert!(!disk.exists(Path::new("/data/t-0")).unwrap());
}

#[test]
fn deleting_records_removes_no_others_after_a_clock_jump() {
    const DAY: Duration = Duration::from_hours(24);
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_000)));
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let logs = logs_by(&disk, &(Arc::clone(&clock) as Arc<dyn Clock>));
    let config =
        LogConfig { segment_size: ByteSize(1), retention: Some(DAY * 7), ..LogConfig::default() };
    let partition = lead_with(&logs, LeaderEpoch(1), config);
    partition.lead().unwrap();
    for number in 0..10 {
        let mut batch = batch([number]);
        let now = clock.now();
        let outcomes = partition.append(LeaderEpoch(1), &mut [&mut batch], Acks::All, now);
        outcomes.unwrap().pop().unwrap().unwrap();
    }
    partition.log().unwrap().flush().unwrap();

    clock.set_wall(clock.now().plus(DAY * 30));
    let deletion = Deletion { partition: Arc::clone(&partition), before: Some(2) };
    let starts = logs.delete_records(&[deletion]).unwrap();
    assert_eq!(starts[0].as_ref().unwrap(), &Offset::new(2));
    assert_eq!(partition.log().unwrap().retention().first_segment_end(), Some(Offset::new(3)));
    assert_eq!(partition.log().unwrap().log_end_offset(), Offset::new(10));
}
