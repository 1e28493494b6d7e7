//! The parts of a broker, its start, and the tasks that keep it in line with the metadata.

use std::collections::BTreeSet;
use std::future::ready;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde_json::Value;
use streamlog::config::{ByteSize, Settings};
use streamlog::io::{Clock, Disk, Share, World as IoWorld};
use streamlog::metadata::{
    ConfigEdit, ConfigRules, ConfigTarget, DirectoryPlace, DirectoryTokens, Image, Incarnation,
    IsrMember, Metadata, MetadataConfig, MetadataError, NewTopic, Registration, StoreError,
    StoreFuture,
};
use streamlog::replication::{
    Assignment, InSyncChanges, LocalLogs, Partition, PartitionSpec, Partitions, Topic,
};
use streamlog::storage::{
    DataDir, DataDirOptions, FlushListener, Flusher, FlusherOptions, Identity, LogConfig, Opener,
    ProducerLimits, StorageError, Upkeep, UpkeepListener, UpkeepOptions,
};
use streamlog::types::{BrokerId, PartitionIndex, TopicPartition};

use crate::broker::applied::AppliedImages;
use crate::broker::flushing::Flushing;
use crate::broker::losses::{Lost, found_on_disk};
use crate::checkers::Violation;
use crate::clock::VirtualClock;
use crate::disks::DIRECTORY;
use crate::ensemble::{BrokerSession, index};
use crate::world::{MACHINES, TOPIC, World};

/// The id of the cluster.
const CLUSTER: &str = "cluster";

/// A part of a broker that runs until its process ends.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// The tokens in the data directory of a machine.
#[derive(Debug)]
struct RecordedTokens(Arc<DataDir>);

impl DirectoryTokens for RecordedTokens {
    fn held(&self) -> Vec<String> {
        self.0.identity().tokens
    }

    fn replace(&self, tokens: Vec<String>) -> StoreFuture<'_, ()> {
        let written = self.0.replace_tokens(tokens).map_err(|error| StoreError::Io {
            action: "write a token to",
            file: self.0.path().to_owned(),
            source: std::io::Error::other(error),
        });
        Box::pin(ready(written))
    }
}

/// A broker that has registered.
pub(crate) struct Broker {
    pub(super) world: Arc<World>,
    pub(super) machine: usize,
    pub(super) id: BrokerId,
    pub(super) logs: Arc<LocalLogs>,
    pub(super) metadata: Metadata,
    pub(super) partitions: Arc<Partitions>,
    pub(super) in_sync_changes: InSyncChanges,
    /// The images that have been applied to `partitions`.
    pub(super) applied: AppliedImages,
    pub(super) flushing: Flushing,
    /// The replicas that have lost records.
    pub(super) lost: Mutex<BTreeSet<Lost>>,
    has_failed: Arc<AtomicBool>,
}

impl Broker {
    /// Opens the data directory of a machine, and registers. `has_failed` is set once its disk
    /// fails.
    pub(crate) async fn start(
        world: &Arc<World>,
        machine: usize,
        has_failed: &Arc<AtomicBool>,
    ) -> Result<Arc<Self>, String> {
        let id = world.machines[machine].id();
        let partitions = Arc::<Partitions>::default();
        let logs = open_logs((world, machine), &partitions, has_failed)
            .map_err(|error| error.to_string())?;
        let store = BrokerSession::open(world, machine).ok_or("the store cannot be reached")?;
        let clock = shared(&world.machines[machine].clock);
        let config = MetadataConfig { rules: world.planted.elections, ..MetadataConfig::default() };
        let metadata = Metadata::open(Arc::new(store), clock, id, Some(CLUSTER), config).await;
        let metadata = metadata.map_err(|error| error.to_string())?;
        let is_older_copy = {
            let Identity { directory_id, tokens, .. } = logs.data.identity();
            let image = Arc::clone(&metadata.image().borrow());
            let known = image.known_broker(id);
            known.is_some_and(|known| known.is_another_disk(&directory_id, &tokens))
        };
        if is_older_copy {
            logs.data.renew_identity().map_err(|error| error.to_string())?;
        }
        let lost = found_on_disk(&logs, &metadata.image().borrow());
        let lost = lost.map_err(|error| error.to_string())?;
        for (_, number) in &lost {
            world.note("disk has lost records", &[index(machine), number.0.into()]);
        }
        let metadata = metadata.with_directory(Arc::new(RecordedTokens(Arc::clone(&logs.data))));
        let registration = Registration {
            directory_id: Some(logs.data.identity().directory_id),
            boot_id: world.machines[machine].disk().boot_id().ok(),
            place: logs.data.locked_inode().map(DirectoryPlace::from),
            clean_shutdown: logs.data.start_report().was_clean,
            lost: lost.clone(),
            ..Registration::default()
        };
        metadata.register(&registration).await.map_err(|error| error.to_string())?;
        Ok(Arc::new(Self {
            world: Arc::clone(world),
            machine,
            id,
            logs,
            metadata,
            partitions,
            in_sync_changes: InSyncChanges::default(),
            applied: AppliedImages::default(),
            flushing: Flushing::default(),
            lost: Mutex::new(lost),
            has_failed: Arc::clone(has_failed),
        }))
    }

    /// Creates a topic; returns false if the store did not take it.
    pub(crate) async fn create_topic(&self, topic: &NewTopic) -> bool {
        match self.metadata.create_topic(topic, &|_, _| Ok(())).await {
            Ok(_) | Err(MetadataError::TopicExists(_)) => true,
            Err(_) => false,
        }
    }

    /// Changes a setting of the topic.
    pub(crate) async fn set(self: Arc<Self>, name: &str, value: &str) -> bool {
        let target = ConfigTarget::Topic(TOPIC.parse().unwrap());
        let edits = [ConfigEdit::Set(name.to_owned(), value.to_owned())];
        let rules = ConfigRules { check: &|_, _| Ok(()), inherited_list: &|_| None };
        self.metadata.edit_configs(&target, &edits, rules).await.is_ok()
    }

    /// The tasks that run until the process ends.
    pub(crate) fn tasks(self: &Arc<Self>) -> Vec<Task> {
        let mut tasks: Vec<Task> = vec![
            Box::pin(Arc::clone(self).attend()),
            Box::pin(Arc::clone(self).keep_lease()),
            Box::pin(Arc::clone(self).follow_images()),
            Box::pin(Arc::clone(self).flush()),
            Box::pin(Arc::clone(self).maintain()),
            Box::pin(Arc::clone(self).send_in_sync_changes()),
            Box::pin(Arc::clone(self).return_to_preferred_leaders()),
            Box::pin(Arc::clone(self).report_logs()),
            Box::pin(Arc::clone(self).give_up_losses()),
        ];
        let others = (0..MACHINES).filter(|other| *other != self.machine);
        for leader in others {
            tasks.push(Box::pin(Arc::clone(self).fetch_from(leader)));
        }
        tasks
    }

    /// The clock of the machine.
    pub(super) fn clock(&self) -> &VirtualClock {
        &self.world.machines[self.machine].clock
    }

    /// Ends the process because its disk has failed.
    pub(super) fn fail(&self) {
        fail((&self.world, self.machine), &self.has_failed);
    }

    /// The image of the cluster.
    pub(crate) fn image(&self) -> Arc<Image> {
        Arc::clone(&self.metadata.image().borrow())
    }

    /// The id of the broker.
    pub(crate) fn id(&self) -> BrokerId {
        self.id
    }

    /// The incarnation; unknown between two sessions.
    pub(crate) fn incarnation(&self) -> Incarnation {
        self.metadata.membership().map_or(Incarnation::UNKNOWN, |own| own.incarnation)
    }

    /// True if this broker may lead in the state of a partition without a report of its log: it is
    /// an in-sync member, or an eligible one, as it is registered.
    pub(crate) fn may_lead(&self, state: &Value) -> bool {
        let (id, Incarnation(incarnation)) = (self.id.0, self.incarnation());
        let members = state["isr"].as_array().into_iter().flatten();
        let incarnations = state["isr_incarnations"].as_array().into_iter().flatten();
        let mut eligible = state["eligible"].as_array().into_iter().flatten();
        members.zip(incarnations).any(|(member, as_of)| *member == id && *as_of == incarnation)
            || eligible
                .any(|replica| replica["broker"] == id && replica["incarnation"] == incarnation)
    }

    /// The replica of a partition.
    pub(crate) fn partition(&self, index: PartitionIndex) -> Option<Arc<Partition>> {
        self.partitions.get(TOPIC, index)
    }

    /// All replicas.
    pub(crate) fn replicas(&self) -> Vec<Arc<Partition>> {
        let topics = self.partitions.topics();
        topics.iter().flat_map(|topic| topic.partitions()).cloned().collect()
    }

    /// Ends the session, and closes the logs; all tasks have ended.
    pub(crate) async fn close(&self) {
        if self.metadata.leave().await.is_err() {
            self.world.note("session not closed", &[index(self.machine)]);
        }
        self.logs.data.close(&self.partitions.high_watermarks()).unwrap();
    }

    /// Follows the metadata. It ends only if another broker has its id, which no machine has.
    async fn attend(self: Arc<Self>) {
        let error = self.metadata.run().await;
        panic!("broker {} gives up: {error}", self.id);
    }

    async fn keep_lease(self: Arc<Self>) {
        let on_end = || {
            self.world.note("lease ran out", &[index(self.machine)]);
            self.partitions.lease_ended();
        };
        self.metadata.keep_lease(on_end).await;
    }

    async fn follow_images(self: Arc<Self>) {
        let mut images = self.metadata.image();
        loop {
            let image = Arc::clone(&images.borrow_and_update());
            self.apply(&image);
            if images.changed().await.is_err() {
                return;
            }
        }
    }

    /// Brings the partitions in line with an image, as `engine::topology` does.
    pub(super) fn apply(&self, image: &Image) {
        let Some(topic) = image.topics().find(|topic| topic.name.as_str() == TOPIC) else { return };
        let incarnation = self.metadata.incarnation_in(image);
        let own = IsrMember { broker: self.id, incarnation };
        let (now, lease) = (self.clock().monotonic(), self.metadata.lease(incarnation));
        let config = log_config(topic.configs.iter());
        let ended = |partition: &_| image.ended_replicas(partition);
        let lost = self.lost_replicas();
        let partitions = topic.numbered().filter_map(|(number, image)| {
            let state = image.state.as_ref()?;
            self.world.observe(number, state);
            if lost.contains(&(topic.id, number)) {
                return None;
            }
            let known = self.partition(number).inspect(|known| known.set_config(config.clone()));
            let partition = known.unwrap_or_else(|| {
                let partition = TopicPartition { topic: topic.name.clone(), partition: number };
                let spec = PartitionSpec {
                    partition,
                    topic_id: topic.id,
                    broker: self.id,
                    config: Arc::clone(&config),
                    rules: self.world.planted.rules,
                };
                Partition::new(spec, Arc::clone(&self.logs))
            });
            let ended = ended(image);
            let mut assignment = Assignment {
                lease: Some(Arc::clone(&lease)),
                ..Assignment::of(image, own, &config)
            };
            assignment.predecessors.ended = ended;
            partition.assign(assignment, now);
            Some(partition)
        });
        let partitions: Vec<_> = partitions.collect();
        self.partitions.replace([Topic::new(topic.name.clone(), topic.id, partitions)]);
        for partition in self.replicas() {
            let config = partition.config();
            self.logs.data.set_config(partition.id(), partition.topic_id(), config);
        }
        self.applied.add();
    }
}

/// Opens the data directory with its services, as `engine::startup` does.
fn open_logs(
    (world, machine): (&Arc<World>, usize),
    partitions: &Arc<Partitions>,
    has_failed: &Arc<AtomicBool>,
) -> Result<Arc<LocalLogs>, StorageError> {
    let on_fatal = || fatal((world, machine), has_failed);
    let machine = &world.machines[machine];
    let disk = machine.disk();
    let options = DataDirOptions {
        opener: Opener { cluster_id: Some(CLUSTER.to_owned()), broker_id: machine.id() },
        boot_id: disk.boot_id().unwrap(),
        configs: Arc::new(|_, _| log_config([])),
        producers: ProducerLimits::default(),
        recovery_threads: 1,
        keep_deleted: Duration::from_secs(5),
        open_files: Share::Fixed(256),
    };
    let path = Path::new(DIRECTORY);
    let io = IoWorld { disk: Arc::new(disk), clock: shared(&machine.clock) };
    let data = Arc::new(DataDir::open(io.clone(), path, options)?);
    let watched: Weak<Partitions> = Arc::downgrade(partitions);
    let listener = UpkeepListener {
        high_watermarks: Box::new(move || {
            watched.upgrade().map(|partitions| partitions.high_watermarks()).unwrap_or_default()
        }),
        on_fatal: on_fatal(),
    };
    let clock = Arc::clone(&io.clock);
    let options = UpkeepOptions::default();
    let upkeep = Arc::new(Upkeep::without_threads(Arc::clone(&data), clock, options, listener)?);
    let informed = Arc::clone(&upkeep);
    let io = IoWorld { disk: Arc::clone(data.disk()), ..io };
    let listener = FlushListener {
        on_flushed: Box::new(move |flushed| informed.flushed(flushed.bytes)),
        on_fatal: on_fatal(),
    };
    let flusher = Flusher::without_threads(io, path, FlusherOptions::default(), listener)?;
    Ok(Arc::new(LocalLogs { data, flusher: Arc::new(flusher), upkeep }))
}

/// The reaction to a failed disk.
fn fatal(
    (world, machine): (&Arc<World>, usize),
    has_failed: &Arc<AtomicBool>,
) -> Box<dyn Fn(&StorageError) + Send + Sync> {
    let (world, has_failed) = (Arc::downgrade(world), Arc::clone(has_failed));
    Box::new(move |error| {
        if let Some(world) = world.upgrade() {
            world.tell(|| format!("the disk of broker {machine} fails: {error}"));
            fail((&world, machine), &has_failed);
        }
    })
}

/// Ends the process of a broker; whoever has made its disk fail starts another.
fn fail((world, machine): (&Arc<World>, usize), has_failed: &AtomicBool) {
    if has_failed.swap(true, Ordering::Relaxed) {
        return;
    }
    world.note("ended by its disk", &[index(machine)]);
    if !world.machines[machine].has_bad_disk.load(Ordering::Relaxed) {
        let facts = format!("broker {machine} ends");
        world.check(|_| Err::<(), _>(Violation::new("sound disks do not fail", facts)));
    }
}

fn shared(clock: &Arc<VirtualClock>) -> Arc<dyn Clock> {
    Arc::<VirtualClock>::clone(clock)
}

/// The settings of the topic: segments are small, so that a run has many, and keep their records.
fn log_config<'a>(overrides: impl IntoIterator<Item = (&'a String, &'a String)>) -> Arc<LogConfig> {
    let segment_size = ByteSize(4 << 10);
    let mut config = LogConfig { segment_size, retention: None, ..LogConfig::default() };
    for (name, value) in overrides {
        config.set_named(name, value).unwrap().unwrap();
    }
    Arc::new(config)
}
