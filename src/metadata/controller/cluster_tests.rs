//! A simulated cluster on which plans are carried out, for the tests of the controller.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::metadata::controller::{AwaitedReports, Basis, plan};
use crate::metadata::image::{
    Image, Listener, LogReport, LogReports, PartitionState, Registration,
};
use crate::metadata::image_builder::ImageBuilder;
use crate::metadata::layout::NodePath;
use crate::metadata::store::SessionId;
use crate::metadata::values::{
    ConfigValue, KnownBrokerValue, NewPartitionsValue, TopicValue, encode, encode_broker,
};
use crate::metadata::{
    Configs, ElectionRule, ElectionRules, Incarnation, MetadataConfig, Node, Op,
};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicId, TopicName};

/// A simulated cluster: the nodes of its metadata store, as an image.
#[derive(Default)]
pub(in crate::metadata) struct Cluster {
    builder: ImageBuilder,
    /// The last image for which nothing was due.
    settled: Option<Image>,
    /// The rules of elections in force.
    rules: Option<ElectionRules>,
    awaited: AwaitedReports,
    now: Duration,
}

impl Cluster {
    pub(in crate::metadata) fn put(
        &mut self,
        place: &NodePath,
        value: impl Into<bytes::Bytes>,
        version: i32,
        created: i64,
    ) {
        let owner = place.is_ephemeral().then_some(SessionId::PAST);
        let node = Node { value: value.into(), version, created, owner };
        self.builder.put(&place.to_string(), Some(&node));
    }

    pub(in crate::metadata) fn broker(&mut self, id: i32, incarnation: i64) {
        self.broker_on(id, incarnation, &format!("d{id}"));
    }

    pub(in crate::metadata) fn broker_on(&mut self, id: i32, incarnation: i64, directory: &str) {
        self.register((id, incarnation), directory, BTreeSet::new(), LogReports::new());
    }

    /// Registers a broker whose disk has lost flushed records of the first partition.
    pub(in crate::metadata) fn broker_with_loss(
        &mut self,
        id: i32,
        incarnation: i64,
        topic: TopicId,
    ) {
        let lost = BTreeSet::from([(topic, PartitionIndex(0))]);
        self.register((id, incarnation), &format!("d{id}"), lost, LogReports::new());
    }

    /// Registers a broker that has reported its log of the first partition: the last epoch, the
    /// end, and the floor.
    pub(in crate::metadata) fn broker_with_report(
        &mut self,
        (id, incarnation): (i32, i64),
        topic: TopicId,
        (last_epoch, end, floor): (i32, i64, i64),
    ) {
        let report = LogReport {
            epoch: self.state(0).leader_epoch,
            last_epoch: LeaderEpoch(last_epoch),
            end: Offset::new(end),
            floor: Offset::new(floor),
        };
        let reports = LogReports::from([((topic, PartitionIndex(0)), report)]);
        self.register((id, incarnation), &format!("d{id}"), BTreeSet::new(), reports);
    }

    pub(in crate::metadata) fn register(
        &mut self,
        (id, incarnation): (i32, i64),
        directory: &str,
        lost: BTreeSet<(TopicId, PartitionIndex)>,
        reports: LogReports,
    ) {
        let listener = Listener {
            name: "PLAINTEXT".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: 9092,
            security_protocol: "PLAINTEXT".to_owned(),
        };
        let registration = Registration {
            listeners: vec![listener],
            directory_id: Some(directory.to_owned()),
            lost,
            reports,
            ..Registration::default()
        };
        self.put(&NodePath::Broker(BrokerId(id)), encode_broker(&registration, 0), 0, incarnation);
    }

    /// Deletes a node.
    pub(in crate::metadata) fn delete(&mut self, place: &NodePath) {
        self.builder.put(&place.to_string(), None);
    }

    /// Notes that the process of an incarnation has ended.
    pub(in crate::metadata) fn ended(&mut self, id: i32, incarnation: i64) {
        let known = KnownBrokerValue::after(None, &Registration::default());
        let value = encode(&known.with_end(Incarnation(incarnation)));
        self.put(&NodePath::KnownBroker(BrokerId(id)), value, 1, 1);
    }

    pub(in crate::metadata) fn broker_gone(&mut self, id: i32) {
        self.builder.put(&NodePath::Broker(BrokerId(id)).to_string(), None);
    }

    pub(in crate::metadata) fn topic(&mut self, replicas: &[&[i32]]) -> TopicId {
        let assignment: Vec<Vec<BrokerId>> =
            replicas.iter().map(|ids| ids.iter().copied().map(BrokerId).collect()).collect();
        let id = TopicId::random();
        self.put(&NodePath::Topic(name()), encode(&TopicValue::new(id, &assignment)), 4, 1);
        self.put(&NodePath::Partitions(name()), NewPartitionsValue::from(PartitionIndex(0)), 0, 1);
        let config = NodePath::TopicConfig(name());
        // The settings may have been put first.
        let missing = self.builder.missing_beside(&NodePath::Topic(name()).to_string());
        if missing.contains(&config.to_string()) {
            self.put(&config, encode(&ConfigValue::new(Configs::new())), 0, 1);
        }
        id
    }

    pub(in crate::metadata) fn set(&mut self, name: &str, value: &str) {
        let configs = [(name.to_owned(), value.to_owned())];
        let value = encode(&ConfigValue::new(Configs::from(configs)));
        self.put(&NodePath::TopicConfig(self::name()), value, 1, 1);
    }

    /// Switches a rule of elections off.
    pub(in crate::metadata) fn without(rule: ElectionRule) -> Self {
        Self { rules: Some(ElectionRules::ALL.without(rule)), ..Self::default() }
    }

    /// Lets time pass after all partitions without a leader are known.
    pub(in crate::metadata) fn wait(&mut self, seconds: u64) {
        let image = self.builder.build();
        let topics: Vec<_> = image.topics().collect();
        let wait = MetadataConfig::default().election_wait;
        self.awaited.update(&image, topics.iter().map(|topic| &***topic), wait);
        self.now += Duration::from_secs(seconds);
        if self.awaited.advance(self.now) {
            self.settled = None;
        }
    }

    /// Executes one plan and returns the number of its groups of operations; 0 if nothing was due.
    pub(in crate::metadata) fn settle(&mut self) -> usize {
        let image = self.builder.build();
        let config = MetadataConfig {
            rules: self.rules.unwrap_or(ElectionRules::ALL),
            ..MetadataConfig::default()
        };
        let planned = |settled| -> Vec<Vec<Op>> {
            let awaited = Some(&self.awaited);
            let basis = Basis { image: &image, settled, epoch: 9, config: &config, awaited };
            plan(basis).collect()
        };
        let groups = planned(self.settled.as_ref());
        assert_eq!(groups, planned(None), "a plan from what changed since {:?}", self.settled);
        if groups.is_empty() {
            self.settled = Some(image);
        }
        for op in groups.iter().flatten() {
            match op {
                Op::Create { path, value, .. } => {
                    let node = Node { value: value.clone(), version: 0, created: 100, owner: None };
                    self.builder.put(path, Some(&node));
                }
                Op::Set { path, value, version } => {
                    let node = Node {
                        value: value.clone(),
                        version: version + 1,
                        created: 100,
                        owner: None,
                    };
                    self.builder.put(path, Some(&node));
                }
                Op::Delete { path, .. } => self.builder.put(path, None),
                Op::Check { .. } => {}
            }
        }
        groups.len()
    }

    pub(in crate::metadata) fn image(&mut self) -> Image {
        self.builder.build()
    }

    pub(in crate::metadata) fn state(&mut self, partition: i32) -> PartitionState {
        let image = self.image();
        let partition = image.partition(&name(), PartitionIndex(partition)).unwrap();
        PartitionState::clone(partition.state.as_ref().unwrap())
    }
}

pub(in crate::metadata) fn name() -> TopicName {
    "clicks".parse().unwrap()
}

pub(in crate::metadata) fn planned(image: &Image, settled: Option<&Image>) -> Vec<Vec<Op>> {
    let config = MetadataConfig::default();
    plan(Basis { image, settled, epoch: 9, config: &config, awaited: None }).collect()
}

pub(in crate::metadata) fn eligible(state: &PartitionState) -> Vec<(i32, &str)> {
    state.eligible.iter().map(|replica| (replica.broker.0, &*replica.directory)).collect()
}

pub(in crate::metadata) fn isr(state: &PartitionState) -> Vec<(i32, i64)> {
    state.isr.iter().map(|member| (member.broker.0, member.incarnation.0)).collect()
}

pub(in crate::metadata) fn leader(state: &PartitionState) -> Option<(i32, i64)> {
    state.leader.map(|leader| (leader.0, state.leader_incarnation.0))
}
