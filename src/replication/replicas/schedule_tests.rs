//! Three replicas of a partition under random appends, fetches, elections and power failures. The
//! partitions and logs are those that brokers use; the disks are in memory.
//!
//! The test plays the network, the store and the controller. A seed fixes the order of these steps,
//! but the threads of the flushers run beside them, so two runs of a seed may flush at different
//! points.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::config::ByteSize;
use crate::io::faulty::FaultyDisk;
use crate::io::{
    Clock, Disk, ManualClock, MemoryDisk, SeededRandom, Share, World as IoWorld, read_exact_at,
};
use crate::metadata::{Caching, InSyncOutcome, Incarnation, IsrMember};
use crate::record::{BatchBuilder, BatchSettings, Compressor};
use crate::replication::cluster_tests::{
    BROKERS, LAG_MAX, Network, Node, PartitionStore, name, place,
};
use crate::replication::{
    Acks, Assignment, CountedFetch, FetchAnswer, FetchOutcome, FetchingReplica, HandOverProgress,
    LocalLogs, Partition, PartitionError, PartitionSpec, Predecessors, ReadRequest, Reader,
    RequestedChange, Role, Rules,
};
use crate::storage::{
    DataDir, DataDirOptions, FlushListener, Flusher, FlusherOptions, HighWatermarks, Log,
    LogConfig, Opener, ProducerLimits, ReadLimit, Upkeep, UpkeepListener, UpkeepOptions,
};
use crate::types::{
    BrokerId, LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId, TopicPartition, seeds,
};

const STEPS: usize = 400;
pub(super) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// A broker with its replica.
pub(super) struct Broker {
    pub(super) id: BrokerId,
    pub(super) incarnation: Incarnation,
    pub(super) disk: FaultyDisk,
    pub(super) logs: Arc<LocalLogs>,
    pub(super) partition: Arc<Partition>,
}

/// An answer on its way to a follower.
struct Sent {
    to: usize,
    incarnation: Incarnation,
    answer: FetchAnswer,
    records: Vec<u8>,
}

struct World {
    random: SeededRandom,
    clock: Arc<ManualClock>,
    brokers: Vec<Broker>,
    store: PartitionStore,
    network: Network<Sent>,
    /// The batches that some leader has shown to consumers.
    shown: Vec<u8>,
    incarnations: i64,
    values: u64,
    truncations: usize,
    elections: usize,
}

pub(super) fn member(broker: &Broker) -> IsrMember {
    IsrMember { broker: broker.id, incarnation: broker.incarnation }
}

fn partition_id(number: i32) -> TopicPartition {
    TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(number) }
}

fn open(disk: &FaultyDisk, clock: &Arc<ManualClock>, id: BrokerId) -> Arc<LocalLogs> {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    let world = IoWorld { disk: Arc::new(disk.clone()) as Arc<dyn Disk>, clock };
    let options = DataDirOptions {
        opener: Opener { cluster_id: Some("cluster".to_owned()), broker_id: id },
        boot_id: disk.boot_id().unwrap(),
        configs: Arc::new(|_, _| config()),
        producers: ProducerLimits::default(),
        recovery_threads: 1,
        keep_deleted: Duration::ZERO,
        open_files: Share::OfProcess,
    };
    let path = Path::new("/data");
    let data = Arc::new(DataDir::open(world.clone(), path, options).unwrap());
    let quiet = FlushListener { on_flushed: Box::new(|_| ()), on_fatal: Box::new(|_| ()) };
    let flusher = Flusher::start(world.clone(), path, FlusherOptions::default(), quiet).unwrap();
    let quiet = UpkeepListener {
        high_watermarks: Box::new(HighWatermarks::new),
        on_fatal: Box::new(|_| ()),
    };
    let upkeep =
        Upkeep::start(Arc::clone(&data), world.clock, UpkeepOptions::default(), quiet).unwrap();
    Arc::new(LocalLogs { data, flusher: Arc::new(flusher), upkeep: Arc::new(upkeep) })
}

/// A configuration with segments of a few batches.
fn config() -> Arc<LogConfig> {
    Arc::new(LogConfig { segment_size: ByteSize(400), ..LogConfig::default() })
}

pub(super) fn replica(
    number: i32,
    logs: &Arc<LocalLogs>,
    broker: BrokerId,
    rules: Rules,
) -> Arc<Partition> {
    let (partition, topic_id) = (partition_id(number), TopicId([7; 16]));
    let (state_created, config) = (0, config());
    let spec = PartitionSpec { partition, topic_id, state_created, broker, config, rules };
    Partition::new(spec, Arc::clone(logs))
}

impl Broker {
    pub(super) fn start(
        disk: FaultyDisk,
        clock: &Arc<ManualClock>,
        (id, incarnation): (BrokerId, i64),
    ) -> Self {
        let logs = open(&disk, clock, id);
        let partition = replica(0, &logs, id, Rules::ALL);
        Self { id, incarnation: Incarnation(incarnation), disk, logs, partition }
    }

    /// Begins anew with the same log, and follows these rules.
    pub(super) fn follow_rules(&mut self, rules: Rules) {
        self.partition = replica(0, &self.logs, self.id, rules);
    }

    pub(super) fn log(&self) -> Option<Arc<Log>> {
        self.partition.log()
    }

    pub(super) fn flush(&self) {
        self.log().map(|log| log.flush().unwrap());
    }

    /// The batches of the log below an offset.
    pub(super) fn bytes_below(&self, below: Offset) -> Vec<u8> {
        let Some(log) = self.log() else { return Vec::new() };
        let limit =
            ReadLimit { max_bytes: 1 << 20, below, at_least_one_batch: true, keeps_emptied: true };
        let (mut bytes, mut next) = (Vec::new(), log.log_start_offset());
        while next < below.min(log.log_end_offset()) {
            let range = log.read(next, limit).unwrap().unwrap();
            let mut part = vec![0; usize::try_from(range.length).unwrap()];
            read_exact_at(&*range.file, &mut part, range.position).unwrap();
            let batches = crate::record::Batches::new(&part);
            next = batches.map(|batch| batch.unwrap().next_offset()).last().unwrap();
            bytes.extend(part);
        }
        bytes
    }

    pub(super) fn stop(&self) {
        self.partition.stop("its broker has ended");
        self.logs.flusher.stop();
        self.logs.upkeep.stop();
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let clock = Arc::new(ManualClock::at(NOW));
        let start = |index: usize| {
            let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), seed);
            Broker::start(disk, &clock, (name(index), i64::try_from(index).unwrap()))
        };
        let brokers: Vec<_> = (0..BROKERS).map(start).collect();
        let first = Node::led_by_first(brokers.iter().map(member).collect());
        let mut world = Self {
            random: SeededRandom::new(seed),
            clock,
            brokers,
            store: PartitionStore::of(first),
            network: Network::new(),
            shown: Vec::new(),
            incarnations: 100,
            values: 0,
            truncations: 0,
            elections: 0,
        };
        (0..BROKERS).for_each(|id| world.learn(id));
        world
    }

    fn step(&mut self) {
        let id = self.random.index(BROKERS);
        match self.random.below(100) {
            0..15 => self.append(id),
            15..42 => self.fetch(id),
            42..70 => self.deliver(),
            70..84 => self.brokers[id].flush(),
            84..92 => self.learn(id),
            92..94 => self.remove_lagging(id),
            94..97 => self.hand_over(id),
            97 => self.elect(),
            _ => self.lose_power(id),
        }
    }

    fn append(&mut self, id: usize) {
        let partition = &self.brokers[id].partition;
        if partition.role() != Role::Leader {
            return;
        }
        match partition.lead() {
            Err(PartitionError::NotLeader { .. }) => return,
            led => led.unwrap(),
        }
        let mut builder = BatchBuilder::new();
        for _ in 0..=self.random.below(3) {
            self.values += 1;
            builder.push(NOW, None, Some(&self.values.to_be_bytes()), &[]).unwrap();
        }
        let mut batch = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
        let epoch = partition.epoch();
        partition.append(epoch, &mut [&mut batch], Acks::All, NOW).unwrap();
    }

    /// Sends the fetch of a follower to the broker that it takes for the leader.
    fn fetch(&mut self, id: usize) {
        let broker = &self.brokers[id];
        let Some(next) = broker.partition.follower_position().unwrap() else { return };
        let (position, incarnation) = (next.position, broker.incarnation);
        let leader = &self.brokers[place(next.leader)].partition;
        let replica = FetchingReplica {
            broker: broker.id,
            incarnation,
            registered: Some(incarnation),
            follows: None,
        };
        if leader.role() != Role::Leader || leader.load().is_err() {
            return;
        }
        let counted = leader.follower_fetched(replica, &position, self.clock.monotonic());
        let (outcome, records) = match counted {
            Err(_) | Ok(CountedFetch::Fenced) => return,
            Ok(CountedFetch::RecordsLost) => panic!("in-sync replicas lead, and have lost nothing"),
            Ok(CountedFetch::Diverging { epoch, end }) => {
                self.truncations += 1;
                (FetchOutcome::Diverging { epoch, end }, Vec::new())
            }
            Ok(CountedFetch::Counted { change, .. }) => {
                let read = leader.read(ReadRequest {
                    reader: Reader::Follower,
                    offset: position.offset.get(),
                    max_bytes: 300,
                    at_least_one_batch: true,
                    shows_gap: false,
                });
                let range = read.unwrap().records;
                let records = range.map_or_else(Vec::new, |range| {
                    let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
                    read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
                    bytes
                });
                if let Some(change) = change {
                    let (partition, epoch) = (Arc::clone(leader), position.epoch);
                    let requested = RequestedChange { partition, epoch, change };
                    self.write(&requested);
                }
                (FetchOutcome::Records, records)
            }
        };
        let leader = &self.brokers[place(next.leader)].partition;
        let (high_watermark, log_start) = (leader.high_watermark(), leader.log_start_offset());
        let answer = FetchAnswer { position, outcome, high_watermark, log_start };
        self.network.send(Sent { to: id, incarnation, answer, records });
    }

    /// Delivers a random answer, so that answers may be late, or loses it.
    fn deliver(&mut self) {
        let Some(sent) = self.network.next(&mut self.random) else { return };
        let Sent { to, incarnation, answer, records } = sent;
        if self.brokers[to].incarnation == incarnation {
            self.brokers[to].partition.take_fetched(&answer, &records).unwrap();
        }
    }

    /// Writes a change of the in-sync set, as the store does.
    fn write(&mut self, requested: &RequestedChange) {
        let node = self.store.node();
        let joins = |member: &IsrMember| {
            let is_member = node.members.contains(member);
            is_member || self.brokers.iter().any(|broker| self::member(broker) == *member)
        };
        let change = &requested.change;
        let applies = node.epoch == requested.epoch
            && self.store.version() == change.version
            && change.members.iter().all(joins)
            && change.successor.is_none_or(|to| self.brokers.iter().any(|b| member(b) == to));
        if applies {
            let mut next = node.clone();
            next.change_to(change.members.clone());
            if let Some(successor) = change.successor {
                next.elect(successor);
            }
            self.store.write(next);
        }
        let version = self.store.version();
        requested.answer(match (applies, self.random.chance(6)) {
            (_, true) => InSyncOutcome::Unknown,
            (true, false) => InSyncOutcome::Applied { version },
            (false, false) => InSyncOutcome::Refused,
        });
    }

    fn remove_lagging(&mut self, id: usize) {
        self.clock.advance(LAG_MAX / 2);
        let now = self.clock.monotonic();
        if let Some(requested) = self.brokers[id].partition.remove_lagging(now, LAG_MAX) {
            self.write(&requested);
        }
    }

    /// Lets a leader begin to hand over to a random replica, and take the next step of its
    /// hand-over.
    fn hand_over(&mut self, id: usize) {
        let to = self.brokers[self.random.index(BROKERS)].id;
        let (partition, now) = (Arc::clone(&self.brokers[id].partition), self.clock.monotonic());
        partition.begin_hand_over(to, now).unwrap();
        if let HandOverProgress::Ask(requested) = partition.continue_hand_over(now) {
            self.write(&requested);
        }
    }

    /// Lets a broker see the state of the partition.
    fn learn(&mut self, id: usize) {
        let (broker, node) = (&self.brokers[id], self.store.node());
        let leader = self.brokers[node.leader].id;
        let assignment = Assignment {
            lease: None,
            floor_epoch: LeaderEpoch::NONE,
            epoch: node.epoch,
            leader: Some(leader),
            leader_incarnation: node.incarnation,
            incarnation: broker.incarnation,
            in_sync: self.store.in_sync(),
            caching: Caching::Off,
            predecessors: Predecessors::default(),
        };
        broker.partition.assign(assignment, self.clock.monotonic());
        broker.partition.open().unwrap();
    }

    /// Elects any in-sync member.
    fn elect(&mut self) {
        let mut next = self.store.node().clone();
        let elected = self.random.index(next.members.len());
        let leader = place(next.members[elected].broker);
        next.members[elected] = member(&self.brokers[leader]);
        next.elect(next.members[elected]);
        self.store.write(next);
        self.elections += 1;
        self.learn(leader);
    }

    /// A machine loses its power, and its broker starts again as another incarnation.
    fn lose_power(&mut self, id: usize) {
        let broker = &self.brokers[id];
        let disk = broker.disk.crash(self.random.number()).unwrap();
        broker.stop();
        self.incarnations += 1;
        self.brokers[id] = Broker::start(disk, &self.clock, (broker.id, self.incarnations));
        if self.store.node().leader == id {
            self.elect();
        }
        self.learn(id);
    }

    /// Notes the records that the leader shows, and checks that no member of the in-sync set lacks
    /// one.
    fn check(&mut self) {
        let node = self.store.node();
        let leader = &self.brokers[node.leader];
        let partition = &leader.partition;
        let leads = partition.role() == Role::Leader && partition.epoch() == node.epoch;
        if leads && partition.latest().is_ok() {
            let shown = leader.bytes_below(partition.high_watermark());
            assert!(shown.starts_with(&self.shown), "records that were shown are withdrawn");
            self.shown = shown;
        }
        for member in &node.members {
            let broker = &self.brokers[place(member.broker)];
            if let Some(log) = broker.log() {
                let held = broker.bytes_below(log.flushed_offset());
                assert!(held.starts_with(&self.shown), "{} lacks shown records", broker.id);
            } else {
                assert!(self.shown.is_empty(), "{} lacks its log", broker.id);
            }
        }
    }

    /// Lets all replicas catch up, and checks that their logs are the same.
    fn settle(&mut self) {
        self.elect();
        self.network.clear();
        self.append(self.store.node().leader);
        for _ in 0..100 {
            for id in 0..BROKERS {
                self.learn(id);
                self.fetch(id);
                while !self.network.is_empty() {
                    self.deliver();
                }
                self.brokers[id].flush();
            }
        }
        let leader = &self.brokers[self.store.node().leader];
        let end = leader.log().unwrap().log_end_offset();
        let expected = leader.bytes_below(end);
        for broker in &self.brokers {
            let found = broker.log().map(|log| log.log_end_offset());
            assert_eq!(found, Some(end), "{} is not caught up", broker.id);
            assert!(broker.bytes_below(end) == expected, "{} has other bytes", broker.id);
        }
    }
}

#[test]
fn replicas_are_the_same_below_the_watermark_whatever_fails() {
    let (mut truncations, mut elections, mut bytes) = (0, 0, 0);
    for seed in seeds(20) {
        println!("STREAMLOG_SEED={seed}");
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.step();
            world.check();
        }
        world.settle();
        world.check();
        truncations += world.truncations;
        elections += world.elections;
        bytes += world.shown.len();
        world.brokers.iter().for_each(Broker::stop);
    }
    assert!(truncations > 5 && elections > 50, "{truncations} truncations, {elections} elections");
    assert!(bytes > 6_000, "only {bytes} bytes were shown");
}
