//! A broker as shipped, without threads and sockets, and the work of its threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use streamlog::broker::{BrokerConfig, EngineConfig, OnApplied, SimulatedBroker, Simulation};
use streamlog::config::ByteSize;
use streamlog::io::{Clock, World as IoWorld};
use streamlog::metadata::{
    ConfigEdit, ConfigRules, ConfigTarget, Image, Incarnation, Metadata, MetadataConfig,
    MetadataError, NewTopic,
};
use streamlog::replication::{LocalLogs, Partition};
use streamlog::storage::LogConfig;
use streamlog::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicPartition};

use crate::broker::flushing::Flushing;
use crate::broker::scheduler::ProcessScheduler;
use crate::checkers::Violation;
use crate::clock::VirtualClock;
use crate::disks::DIRECTORY;
use crate::ensemble::{BrokerSession, index};
use crate::machine::{Process, Task};
use crate::network::{Links, address_of};
use crate::world::{TOPIC, World};

/// The time without all records after which a member leaves the in-sync set.
const LAG_MAX: Duration = Duration::from_secs(3);

/// The longest pause of a follower after an exchange that failed.
const BACKOFF: Duration = Duration::from_millis(200);

/// The longest wait of a follower for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// A broker that has registered.
pub(crate) struct Broker {
    pub(super) world: Arc<World>,
    pub(super) machine: usize,
    pub(super) id: BrokerId,
    pub(super) inner: SimulatedBroker,
    pub(super) flushing: Flushing,
    has_failed: Arc<AtomicBool>,
}

impl Broker {
    /// Opens the data directory of a machine, and registers.
    pub(crate) async fn start(
        world: &Arc<World>,
        machine: usize,
        process: &Arc<Process>,
    ) -> Result<Arc<Self>, String> {
        let store = BrokerSession::open(world, machine).ok_or("the store cannot be reached")?;
        let host = &world.machines[machine];
        let clock: Arc<dyn Clock> = Arc::clone(&host.clock) as _;
        let simulation = Simulation {
            world: IoWorld { disk: Arc::new(host.disk()), clock },
            store: Arc::new(store),
            scheduler: Arc::new(ProcessScheduler::new((world, machine), process)),
            network: Arc::new(Links::of(world, machine)),
            rules: world.planted.rules,
        };
        let opened =
            SimulatedBroker::open(config(world, host.id()), address_of(machine), simulation);
        let inner = opened.await.map_err(|error| error.to_string())?;
        Ok(Arc::new(Self {
            world: Arc::clone(world),
            machine,
            id: host.id(),
            inner,
            flushing: Flushing::default(),
            has_failed: Arc::clone(&process.has_failed),
        }))
    }

    /// Creates a topic; returns false if the store did not take it.
    pub(crate) async fn create_topic(&self, topic: &NewTopic) -> bool {
        match self.metadata().create_topic(topic, &|_, _| Ok(())).await {
            Ok(_) | Err(MetadataError::TopicExists { .. }) => true,
            Err(_) => false,
        }
    }

    /// Changes a setting of the topic.
    pub(crate) async fn set(self: Arc<Self>, name: &str, value: &str) -> bool {
        let target = ConfigTarget::Topic(TOPIC.parse().unwrap());
        let edits = [ConfigEdit::Set(name.to_owned(), value.to_owned())];
        let rules = ConfigRules { check: &|_, _| Ok(()), inherited_list: &|_| None };
        self.metadata().edit_configs(&target, &edits, rules).await.is_ok()
    }

    /// Tries to make the state of a partition again. The last one was of this epoch.
    pub(crate) async fn rebuild_state(
        self: Arc<Self>,
        TopicPartition { topic, partition }: TopicPartition,
        epoch: LeaderEpoch,
    ) {
        let epoch = LeaderEpoch(epoch.0 + 1);
        if let Err(error) = self.metadata().rebuild_state(&topic, partition, epoch).await {
            self.world.tell(|| format!("the state of {topic}-{partition} is not made: {error}"));
        }
    }

    /// Starts the tasks of the broker, and returns those that do the work of its threads.
    pub(crate) fn run(self: &Arc<Self>) -> Vec<Task> {
        self.inner.run(observe(Arc::downgrade(&self.world)));
        vec![
            Box::pin(Arc::clone(self).flush()),
            Box::pin(Arc::clone(self).maintain()),
            Box::pin(Arc::clone(self).end_once_failed()),
        ]
    }

    /// Answers a request that a machine sends.
    pub(crate) async fn answer(self: Arc<Self>, from: usize, request: Bytes) -> Option<Bytes> {
        self.inner.answer(address_of(from), &request).await
    }

    /// Ends the process once its disk has failed: whoever has made it fail starts another.
    async fn end_once_failed(self: Arc<Self>) {
        self.inner.failed().await;
        self.has_failed.store(true, Ordering::Relaxed);
        self.world.note("ended by its disk", &[index(self.machine)]);
        if !self.world.machines[self.machine].has_bad_disk.load(Ordering::Relaxed) {
            let facts = format!("broker {} ends: {:?}", self.id, self.inner.failure());
            self.world.check(|_| Err::<(), _>(Violation::new("sound disks do not fail", facts)));
        }
    }

    /// The clock of the machine.
    pub(super) fn clock(&self) -> &VirtualClock {
        &self.world.machines[self.machine].clock
    }

    pub(super) fn logs(&self) -> &LocalLogs {
        self.inner.logs()
    }

    pub(super) fn metadata(&self) -> &Metadata {
        self.inner.metadata()
    }

    /// The image of the cluster.
    pub(crate) fn image(&self) -> Arc<Image> {
        self.metadata().image().borrow()
    }

    /// The id of the broker.
    pub(crate) fn id(&self) -> BrokerId {
        self.id
    }

    /// The incarnation; unknown between two sessions.
    pub(crate) fn incarnation(&self) -> Incarnation {
        self.metadata().membership().map_or(Incarnation::UNKNOWN, |own| own.incarnation)
    }

    /// True if this broker may lead in the state of a partition without a report of its log: it is
    /// an in-sync member, or an eligible one, as it is registered.
    pub(crate) fn may_lead(&self, state: &Value) -> bool {
        if !state["unvouched"].is_null() {
            // Its leader waits for a replica that confirms it.
            return false;
        }
        let (id, Incarnation(incarnation)) = (self.id.0, self.incarnation());
        let mut eligible = state["eligible"].as_array().into_iter().flatten();
        self.is_in_sync(state)
            || self.incarnation() != Incarnation::UNKNOWN
                && eligible
                    .any(|replica| replica["broker"] == id && replica["incarnation"] == incarnation)
    }

    /// True if this broker is an in-sync member in the state of a partition, as it is registered.
    pub(crate) fn is_in_sync(&self, state: &Value) -> bool {
        let (id, Incarnation(incarnation)) = (self.id.0, self.incarnation());
        let members = state["isr"].as_array().into_iter().flatten();
        let incarnations = state["isr_incarnations"].as_array().into_iter().flatten();
        self.incarnation() != Incarnation::UNKNOWN
            && members
                .zip(incarnations)
                .any(|(member, as_of)| *member == id && *as_of == incarnation)
    }

    /// The replica of a partition.
    pub(crate) fn partition(&self, index: PartitionIndex) -> Option<Arc<Partition>> {
        self.inner.partitions().get(TOPIC, index)
    }

    /// All replicas.
    pub(crate) fn replicas(&self) -> Vec<Arc<Partition>> {
        let topics = self.inner.partitions().topics();
        topics.iter().flat_map(|topic| topic.partitions()).cloned().collect()
    }

    /// Hands over whatever another broker can lead.
    pub(crate) async fn resign(&self) {
        self.inner.resign().await;
    }

    /// Ends the session, and closes the logs; all tasks have ended.
    pub(crate) async fn close(&self) {
        if self.inner.close().await.is_err() {
            self.world.note("session not closed", &[index(self.machine)]);
        }
    }

    /// Lets go of the disk, as the end of the process does; all tasks have ended.
    pub(crate) fn abandon(&self) {
        self.inner.abandon();
    }
}

fn config(world: &World, broker_id: BrokerId) -> BrokerConfig {
    let mut config = BrokerConfig {
        engine: EngineConfig {
            broker_id,
            log: log_config(),
            // With several threads, the system would choose the order of the logs.
            recovery_threads: 1,
            ..EngineConfig::at(DIRECTORY)
        },
        ..BrokerConfig::default()
    };
    config.engine.metadata = MetadataConfig {
        rules: world.planted.elections,
        election_wait: world.election_wait,
        ..MetadataConfig::default()
    };
    config.offsets_topic.partitions = 1;
    config.offsets_topic.segment_size = ByteSize(16 << 10);
    config.replica.lag_max = LAG_MAX;
    config.replica.backoff = BACKOFF;
    config.replica.answer_timeout = ANSWER_MAX;
    config
}

/// The settings of topics: segments are small, so that a run has many, and keep their records.
fn log_config() -> LogConfig {
    LogConfig {
        segment_size: ByteSize(4 << 10),
        retention: None,
        file_delete_delay: Duration::from_secs(5),
        ..LogConfig::default()
    }
}

/// Lets the world see the states of the partitions as a broker has applied them.
fn observe(world: Weak<World>) -> OnApplied {
    Box::new(move |image: &Image| {
        let Some(world) = world.upgrade() else { return };
        for topic in image.topics() {
            for (partition, found) in topic.numbered() {
                if let Some(state) = &found.state {
                    let topic = topic.name.clone();
                    world.observe(&TopicPartition { topic, partition }, state);
                }
            }
        }
    })
}
