//! Matching the logs of a data directory with the topics of its metadata, at startup.
//!
//! A log that lost its `partition.metadata` gets it back if the metadata leaves no doubt about its
//! topic. If the metadata does not know some logs, it has probably lost their topics, and the logs
//! must not be taken for those of deleted topics. Then startup fails if the metadata is in the data
//! directory, where a command rebuilds it. If a topic's node is missing in ZooKeeper, its logs are
//! left alone, and the other topics are served.

use std::fmt;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use crate::engine::topic_settings::OFFSET_UNIT;
use crate::engine::{EngineError, Executor};
use crate::io::Disk;
use crate::metadata::{
    DirectoryTokens, ElectionRules, Image, Store, StoreError, StoreFuture, Topic, has_cluster,
};
use crate::storage::{DataDir, Identity, OffsetUnit, PartitionMetadata, StorageError};
use crate::types::{BrokerId, PartitionIndex, TopicId, TopicName, TopicPartition, WithCauses};

/// The maximum number of partitions listed in a message.
const NAMED_MAX: usize = 5;

/// Refuses to create a new journal in a data directory that must already have one.
///
/// # Errors
/// `JournalMissing`.
pub(super) fn require_journal(
    disk: &dyn Disk,
    data: &DataDir,
    journal: &Path,
) -> Result<(), EngineError> {
    let refused = |source| StorageError::io("look for", journal, source);
    let had_journal = data.start_report().was_clean
        || !data.partitions().is_empty()
        || !data.unidentified().is_empty();
    if had_journal && !disk.exists(journal).map_err(refused)? {
        return Err(EngineError::Metadata(StoreError::lost(journal).into()));
    }
    Ok(())
}

/// Refuses to look for metadata in a data directory that has it in ZooKeeper.
///
/// # Errors
/// `OnZooKeeper`.
pub(super) fn require_own_metadata(data: &DataDir) -> Result<(), EngineError> {
    if data.identity().is_on_zookeeper {
        return Err(EngineError::OnZooKeeper { dir: data.path().to_owned() });
    }
    Ok(())
}

/// Refuses to create a new cluster in a shared store for a data directory that has logs already:
/// the new cluster would not know their topics.
///
/// # Errors
/// `NoCluster`.
pub(super) async fn require_cluster(data: &DataDir, store: &dyn Store) -> Result<(), EngineError> {
    let count = data.partitions().len() + data.unidentified().len();
    if count > 0 && !has_cluster(store, &data.identity().cluster_id).await? {
        return Err(EngineError::NoCluster { dir: data.path().to_owned(), count });
    }
    Ok(())
}

/// Identifies logs where possible, and refuses logs that the metadata does not know, unless the
/// metadata is shared with other brokers. The logs of a topic whose node is missing there, or
/// cannot be read, are left alone until it is repaired.
///
/// # Errors
/// `UnknownLogs`, or the error of the disk.
pub(super) fn match_logs(
    data: &DataDir,
    image: &Image,
    is_shared: bool,
) -> Result<(), EngineError> {
    identify_logs(data, image)?;
    for partition in data.unidentified() {
        match owner(image, &partition) {
            Owner::Doubtful => tracing::error!(
                "{partition} is left alone: its partition.metadata is missing or damaged, and its \
                 log may be that of a topic or of a deleted one of the same name; to have the \
                 partition start with an empty log, stop the broker and move the directory away"
            ),
            Owner::Unreadable => tracing::error!(
                "{partition} is left alone until the nodes of its topic and its settings are \
                 restored: its partition.metadata is missing or damaged"
            ),
            Owner::Topic(_) | Owner::Deleted(_) | Owner::Unknown => {}
        }
    }
    if is_shared {
        for Stray { words, remedy } in strays(data, || image) {
            tracing::error!("{words}; {remedy}");
        }
        return Ok(());
    }
    let (unknown, _) = unknown_logs(data, || image);
    if unknown.is_empty() {
        return Ok(());
    }
    let named = unknown.iter().take(NAMED_MAX).map(TopicPartition::to_string);
    let mut partitions = named.collect::<Vec<_>>().join(", ");
    if unknown.len() > NAMED_MAX {
        partitions.push_str(", ...");
    }
    let (dir, count) = (data.path().to_owned(), unknown.len());
    Err(EngineError::UnknownLogs { dir, count, partitions })
}

/// Identifies the logs without a sound `partition.metadata` whose topics are beyond doubt. Returns
/// the number of those that belong to topics.
///
/// # Errors
/// Those of the disk, for the log of a topic.
pub(super) fn identify_logs(data: &DataDir, image: &Image) -> Result<usize, StorageError> {
    let mut count = 0;
    for partition in data.unidentified() {
        match owner(image, &partition) {
            Owner::Topic(metadata) => {
                data.identify(&partition, metadata)?;
                count += 1;
                tracing::error!(
                    "the partition.metadata of {partition} was missing or damaged: it is made \
                     again from the metadata"
                );
            }
            Owner::Deleted(metadata) => {
                if let Err(error) = data.identify(&partition, metadata) {
                    tracing::warn!("{partition} is deleted: {}", WithCauses(&error));
                }
            }
            Owner::Doubtful | Owner::Unreadable | Owner::Unknown => {}
        }
    }
    Ok(count)
}

/// Refuses to create a topic of which this broker has logs that the metadata does not know. A new
/// topic could not use them, and would be in the way of the earlier one once its nodes are
/// restored.
///
/// # Errors
/// `LogsLeft`.
pub(super) fn require_no_logs(
    data: &DataDir,
    image: &Image,
    topic: &TopicName,
) -> Result<(), EngineError> {
    let is_unknown = |id: &Option<TopicId>| {
        id.is_none_or(|id| image.topic_by_id(id).is_none() && image.tombstone(id).is_none())
    };
    if image.topic(topic).is_none() && data.topic_ids_of(topic).iter().any(is_unknown) {
        return Err(EngineError::LogsLeft { topic: topic.clone(), dir: data.path().to_owned() });
    }
    Ok(())
}

/// Creates the logs again that are gone, so that their records count as damaged and not as deleted.
/// The other replicas of a partition have the records of a log that was there when this broker was
/// stopped in order: it is left out.
///
/// # Errors
/// Those of the disk.
pub(super) fn restore_lost_logs(
    data: &DataDir,
    image: &Image,
    broker: BrokerId,
) -> Result<(), EngineError> {
    let start = data.start_report();
    for (partition, id) in &start.missing {
        let topic = image.topic_by_id(*id).filter(|topic| topic.name == partition.topic);
        let assigned = topic.and_then(|topic| topic.partition(partition.partition));
        if let Some(topic) = topic
            && assigned.is_some_and(|assigned| *assigned.replicas == [broker])
        {
            restore(data, topic, partition)?;
        }
    }
    for partition in &start.gone {
        let topic = image.topic(&partition.topic);
        let assigned = topic.and_then(|topic| topic.partition(partition.partition));
        match topic {
            // The checkpoint may have the offsets of a deleted topic of this name.
            Some(topic)
                if assigned.is_some_and(|assigned| assigned.replicas.contains(&broker))
                    && tombstones_of(image, partition).is_empty() =>
            {
                tracing::error!("the log of {partition} is gone: it had records");
                restore(data, topic, partition)?;
            }
            // Its node may be repaired.
            None if image.is_topic_broken(&partition.topic) => {}
            _ => data.forget_gone_log(partition),
        }
    }
    Ok(())
}

/// Creates a log again that is gone. If that fails, the partition stays closed.
fn restore(data: &DataDir, topic: &Topic, partition: &TopicPartition) -> Result<(), EngineError> {
    match data.restore_lost_log(partition, metadata_of(topic)) {
        Err(error) if error.leaves_disk_unknown() => Err(error.into()),
        Err(error) => {
            tracing::error!("{partition} is closed: {}", WithCauses(&error));
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// The logs of a data directory that the metadata does not know, in order, and that metadata. It is
/// read after the directory, since a topic is there before its logs.
fn unknown_logs<I: Deref<Target = Image>>(
    data: &DataDir,
    image: impl FnOnce() -> I,
) -> (Vec<TopicPartition>, I) {
    let (unidentified, identified) = (data.unidentified(), data.partitions());
    let image = image();
    let unidentified = unidentified.into_iter();
    let mut unknown: Vec<TopicPartition> = unidentified
        .filter(|partition| matches!(owner(&image, partition), Owner::Unknown))
        .collect();
    let strangers = identified.into_iter();
    let strangers = strangers.filter(|(partition, m)| !is_known(&image, partition, m.topic_id));
    unknown.extend(strangers.map(|(partition, _)| partition));
    unknown.sort();
    (unknown, image)
}

/// The logs of a topic that belong to no partition in ZooKeeper, and what a person can do.
pub(crate) struct Stray {
    pub(crate) words: String,
    pub(crate) remedy: String,
}

/// The logs of a data directory that belong to no partition in ZooKeeper, by topic.
pub(crate) fn strays<I: Deref<Target = Image>>(
    data: &DataDir,
    image: impl FnOnce() -> I,
) -> Vec<Stray> {
    let (unknown, image) = unknown_logs(data, image);
    let topics = unknown.chunk_by(|one, next| one.topic == next.topic);
    let stray = |partitions: &[TopicPartition]| {
        Some(Stray::of(data, &image, &partitions.first()?.topic, partitions))
    };
    topics.filter_map(stray).collect()
}

impl Stray {
    fn of(data: &DataDir, image: &Image, topic: &TopicName, logs: &[TopicPartition]) -> Self {
        let (reason, remedy) = if image.topic(topic).is_some() {
            (
                "a topic of this name exists with another id or fewer partitions",
                "move the directories of the logs away, which it cannot use".to_owned(),
            )
        } else {
            (
                "its node is missing in ZooKeeper",
                format!(
                    "restore /brokers/topics/{topic} and all below it; or, if nobody wants them, \
                     move the directories of the logs away and delete /config/topics/{topic}"
                ),
            )
        };
        let numbers: Vec<_> = logs.iter().map(|log| log.partition.to_string()).collect();
        let words = format!(
            "the logs of topic '{topic}' in '{}' are left alone (partitions {}): {reason}",
            data.path().display(),
            numbers.join(", ")
        );
        Self { words, remedy }
    }
}

/// The tokens of registrations in the data directory.
pub(super) struct RecordedTokens {
    data: Arc<DataDir>,
    executor: Executor,
}

impl RecordedTokens {
    /// Those of `data`, written where `executor` may block.
    pub(super) fn new(data: Arc<DataDir>, executor: Executor) -> Self {
        Self { data, executor }
    }
}

impl DirectoryTokens for RecordedTokens {
    fn held(&self) -> Vec<String> {
        self.data.identity().tokens
    }

    fn replace(&self, tokens: Vec<String>) -> StoreFuture<'_, ()> {
        let data = Arc::clone(&self.data);
        let failed = |source| StoreError::Io {
            action: "write a token to",
            file: self.data.path().to_owned(),
            source,
        };
        Box::pin(async move {
            let writing = self.executor.spawn_blocking(move || data.replace_tokens(tokens));
            let written = writing.ended().await;
            let written = written.map_err(|lost| failed(io::Error::other(lost)))?;
            written.map_err(|error| failed(io::Error::other(error)))
        })
    }
}

impl fmt::Debug for RecordedTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecordedTokens").field(&self.data.path()).finish()
    }
}

/// Gives an older copy of the broker's data directory a new id, so that it counts as a replaced
/// disk. Its replicas may lack acknowledged records: they must not lead, nor count as in sync,
/// until they have fetched them again.
///
/// # Errors
/// Those of the disk.
pub(super) fn renew_older_copy(
    data: &DataDir,
    image: &Image,
    (broker, rules): (BrokerId, ElectionRules),
) -> Result<(), EngineError> {
    let Identity { directory_id, tokens, .. } = data.identity();
    let known = image.known_broker(broker);
    if !known.is_some_and(|known| rules.is_another_disk(known, &directory_id, &tokens)) {
        return Ok(());
    }
    data.renew_identity()?;
    tracing::error!(
        "'{}' is an older copy of the data directory of broker {broker}, and may lack acknowledged \
         records: its partitions are led by brokers that have all of them, or by none until the \
         newer data directory is back",
        data.path().display()
    );
    Ok(())
}

/// The topic that a log without `partition.metadata` belongs to.
enum Owner {
    Topic(PartitionMetadata),
    Deleted(PartitionMetadata),
    /// Several topics have had this name.
    Doubtful,
    /// The node of the topic cannot be read, or its settings are missing or cannot be read.
    Unreadable,
    Unknown,
}

fn owner(image: &Image, partition: &TopicPartition) -> Owner {
    let topic = image.topic(&partition.topic);
    let topic = topic.filter(|topic| topic.partition(partition.partition).is_some());
    match (topic, tombstones_of(image, partition).as_slice()) {
        // The unit of its offsets is a setting of the topic.
        _ if image.are_topic_configs_broken(&partition.topic) => Owner::Unreadable,
        (None, []) if image.is_topic_broken(&partition.topic) => Owner::Unreadable,
        (None, []) => Owner::Unknown,
        (Some(topic), []) => Owner::Topic(metadata_of(topic)),
        (None, [id]) => {
            let offset_unit = OffsetUnit::Record;
            Owner::Deleted(PartitionMetadata { topic_id: *id, offset_unit })
        }
        _ => Owner::Doubtful,
    }
}

/// The ids of the deleted topics that have had a partition of this name.
fn tombstones_of(image: &Image, partition: &TopicPartition) -> Vec<TopicId> {
    let deleted = image.tombstones().filter(|(_, tombstone)| {
        tombstone.name == partition.topic.as_str()
            && number(partition.partition) < tombstone.partitions
    });
    deleted.map(|(id, _)| id).collect()
}

/// The metadata of the logs of a topic.
fn metadata_of(topic: &Topic) -> PartitionMetadata {
    let unit = topic.configs.get(OFFSET_UNIT).and_then(|unit| unit.parse().ok());
    let offset_unit = unit.unwrap_or(OffsetUnit::Record);
    PartitionMetadata { topic_id: topic.id, offset_unit }
}

/// Returns true if the metadata has the partition, or a tombstone of its topic, or if a node that
/// may have either cannot be read.
fn is_known(image: &Image, partition: &TopicPartition, id: TopicId) -> bool {
    let topic = image.topic_by_id(id).filter(|topic| topic.name == partition.topic);
    topic.is_some_and(|topic| topic.partition(partition.partition).is_some())
        || image.tombstone(id).is_some()
        || image.is_topic_broken(&partition.topic)
        || image.is_tombstone_broken(id)
}

fn number(partition: PartitionIndex) -> usize {
    usize::try_from(partition.0).unwrap_or(usize::MAX)
}
