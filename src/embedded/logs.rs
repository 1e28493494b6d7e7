//! The logs of a data directory, open in this process.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "broker")]
use crate::broker::Broker;
use crate::embedded::{EmbeddedError, Partition, parking};
use crate::engine::{Engine, EngineConfig, EngineHandle, NoListener, control_runtime};
#[cfg(feature = "internals")]
use crate::io::{Clock, Disk};
use crate::io::{SystemClock, SystemDisk, World};
use crate::metadata::{MetadataError, NewTopic};
use crate::replication::Topic;
use crate::types::{InvalidTopicName, PartitionIndex, TopicName};

/// The logs of a data directory, open in this process.
///
/// Share it by reference, or give each thread the [`Partition`]s that it needs: these can be cloned
/// and sent to threads. Dropping it without [`close`](Self::close) closes it too, but discards
/// errors. Neither close nor drop it inside an asynchronous task: both wait for the disk.
pub struct Logs {
    handle: EngineHandle,
    /// The engine to stop on close; `None` for the engine of a broker.
    engine: Option<Engine>,
}

impl Logs {
    /// Opens a data directory with a broker's default settings, creating it if it does not exist.
    /// After an unclean shutdown this includes recovery of the data that was being written.
    ///
    /// # Errors
    /// [`EmbeddedError::NotOpened`] if it is open elsewhere, or cannot be used.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, EmbeddedError> {
        let data_dir = dir.as_ref().to_owned();
        Self::open_with(EngineConfig { data_dir, ..EngineConfig::default() })
    }

    /// Opens `config.data_dir` with these settings.
    ///
    /// # Errors
    /// As [`Logs::open`].
    pub fn open_with(config: EngineConfig) -> Result<Self, EmbeddedError> {
        let disk = Arc::new(SystemDisk::default());
        Self::start(config, &World { disk, clock: Arc::new(SystemClock) })
    }

    /// Opens `config.data_dir` on the given disk and clock.
    ///
    /// # Errors
    /// As [`Logs::open`].
    #[cfg(feature = "internals")]
    pub fn open_on(
        config: EngineConfig,
        disk: &Arc<dyn Disk>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, EmbeddedError> {
        let world = World { disk: Arc::clone(disk), clock: Arc::clone(clock) };
        Self::start(config, &world)
    }

    fn start(config: EngineConfig, world: &World) -> Result<Self, EmbeddedError> {
        let path = config.data_dir.clone();
        let engine = control_runtime()
            .and_then(|runtime| Engine::open(config, Vec::new(), world, runtime, None))
            .map_err(|source| EmbeddedError::NotOpened { path, source })?;
        engine.run(Arc::new(NoListener));
        Ok(Self { handle: engine.handle(), engine: Some(engine) })
    }

    /// The logs of a broker in this process, which continues to serve its clients. They are closed
    /// when the broker stops.
    #[cfg(feature = "broker")]
    pub fn of(broker: &Broker) -> Self {
        Self { handle: broker.engine(), engine: None }
    }

    /// Creates a topic with this number of partitions. `settings` are topic settings by Kafka's
    /// names; other settings have the defaults of the configuration that the directory was opened
    /// with.
    ///
    /// ```
    /// # use streamlog::embedded::Logs;
    /// # let dir = tempfile::tempdir()?;
    /// # let logs = Logs::open(dir.path().join("data"))?;
    /// logs.create_topic("audit", 4, &[("retention.ms", "-1"), ("flush.ms", "5")])?;
    /// assert_eq!(logs.topics(), ["audit"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the topic exists already or is internal, if the name, the number or a setting is invalid,
    /// or if the change cannot be written.
    pub fn create_topic(
        &self,
        name: &str,
        partitions: i32,
        settings: &[(&str, &str)],
    ) -> Result<(), EmbeddedError> {
        let configs = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let name = own_name(name)?;
        let topic = NewTopic { partitions, configs: configs.collect(), ..NewTopic::named(name) };
        parking::wait(self.handle.create_topic(topic))?;
        Ok(())
    }

    /// Creates a topic unless it exists; returns true if it was created. An existing topic is not
    /// changed.
    ///
    /// # Errors
    /// As [`Logs::create_topic`], except that an existing topic is no error.
    pub fn ensure_topic(
        &self,
        name: &str,
        partitions: i32,
        settings: &[(&str, &str)],
    ) -> Result<bool, EmbeddedError> {
        if self.handle.topic(name).is_some() {
            return Ok(false);
        }
        match self.create_topic(name, partitions, settings) {
            Ok(()) => Ok(true),
            Err(error) if is_taken(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes a topic with its records. Its partitions refuse all calls from now on; their files
    /// are deleted after `file.delete.delay.ms`.
    ///
    /// # Errors
    /// `UnknownTopic`, `InvalidName`, `Internal`, or an error of writing the change.
    pub fn delete_topic(&self, name: &str) -> Result<(), EmbeddedError> {
        let topic = self.topic(own_name(name)?.as_str())?;
        Ok(parking::wait(self.handle.delete_topic(&topic.name, topic.id))?)
    }

    /// The names of all topics, sorted, without internal ones.
    pub fn topics(&self) -> Vec<String> {
        let topics = self.handle.topics();
        let public = topics.iter().filter(|topic| !topic.name.is_internal());
        let mut names: Vec<_> = public.map(|topic| topic.name.to_string()).collect();
        names.sort_unstable();
        names
    }

    /// Returns a partition of a topic. The first call for a partition opens its log, which reads
    /// its directory.
    ///
    /// # Errors
    /// `UnknownTopic` and `UnknownPartition`, or an error of opening its log.
    pub fn partition(&self, topic: &str, index: i32) -> Result<Partition, EmbeddedError> {
        let found = self.topic(topic)?;
        let partition = found.partition(PartitionIndex(index)).ok_or_else(|| {
            let (topic, count) = (topic.to_owned(), found.partitions().count());
            EmbeddedError::UnknownPartition { topic, index, count }
        })?;
        Partition::open(self.handle.clone(), Arc::clone(partition))
    }

    /// Flushes everything and closes the directory; the next open needs no recovery. Pending waits
    /// and iterations end. The logs of a broker stay open in the broker.
    ///
    /// # Errors
    /// If the disk has failed before, or fails now: the next open recovers the flushed data.
    pub fn close(self) -> Result<(), EmbeddedError> {
        match self.engine {
            Some(mut engine) => Ok(engine.stop()?),
            None => Ok(()),
        }
    }

    fn topic(&self, name: &str) -> Result<Arc<Topic>, EmbeddedError> {
        let unknown = || EmbeddedError::UnknownTopic { topic: name.to_owned() };
        self.handle.topic(name).ok_or_else(unknown)
    }
}

/// Parses the name of a topic that callers may change.
fn own_name(text: &str) -> Result<TopicName, EmbeddedError> {
    let name: TopicName = text.parse().map_err(|source: InvalidTopicName| {
        EmbeddedError::InvalidName { name: text.to_owned(), source }
    })?;
    if name.is_internal() {
        return Err(EmbeddedError::Internal { topic: text.to_owned() });
    }
    Ok(name)
}

fn is_taken(error: &EmbeddedError) -> bool {
    use crate::engine::EngineError::Metadata;
    matches!(
        error,
        EmbeddedError::Engine(Metadata(MetadataError::TopicExists { is_left: false, .. }))
    )
}

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logs").field("topics", &self.topics()).finish_non_exhaustive()
    }
}
