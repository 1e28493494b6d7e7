//! `streamlog log rebuild-metadata`: rebuilds the metadata journal while no broker runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::broker::{BrokerError, OffsetsTopicConfig};
use crate::engine::{EngineConfig, EngineError, METADATA_DIR, OFFSET_UNIT};
use crate::io::{Disk, SystemDisk};
use crate::metadata::{
    Configs, FoundCluster, FoundTopic, MetadataError, Rebuild, RebuiltTopic, Salvage,
};
use crate::storage::{
    LogSummary, OffsetUnit, Opener, PartitionMetadata, StorageError, lock_data_dir, quarantine,
    restore_identity, summarize_logs,
};
use crate::types::{LeaderEpoch, ProducerId, TopicName, TopicPartition};

/// The result of rebuilding the metadata of a data directory.
#[derive(Debug)]
pub struct RebuiltMetadata {
    /// True if `meta.properties` was restored from the journal.
    pub is_identity_new: bool,
    /// True if the journal was rebuilt.
    pub is_journal_new: bool,
    /// The topics that have logs.
    pub topics: Vec<RebuiltTopic>,
    /// The next producer id that the broker assigns.
    pub next_producer_id: ProducerId,
    /// The brokers whose settings are lost, by id; `<default>` for those of all brokers.
    pub lost_broker_configs: Vec<String>,
    /// True if the old journal was completely readable.
    pub was_whole: bool,
    /// Logs whose topic could not be determined, and why.
    pub unidentified: Vec<(TopicPartition, String)>,
    /// The new paths of the old journal's files.
    pub set_aside: Vec<PathBuf>,
}

/// Rebuilds the metadata journal and the identity file of a data directory, as far as they are lost
/// or damaged. Topics get at least the number of partitions given in `partitions`. Returns `None`,
/// without changes, if both files are intact and the journal knows all logs. `watch` is called for
/// each batch that is read, and may end the call before anything is changed.
///
/// # Errors
/// If a broker has the directory open, its metadata is in ZooKeeper, two topics claim one name, or
/// the disk fails; [`BrokerError::Interrupted`] if `watch` ends the call.
pub fn rebuild_metadata(
    dir: &Path,
    partitions: &BTreeMap<TopicName, usize>,
    watch: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Option<RebuiltMetadata>, BrokerError> {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk::default());
    rebuild_on(&disk, dir, partitions, watch)
}

/// Like `rebuild_metadata`, on another disk.
///
/// # Errors
/// The errors of `rebuild_metadata`.
pub fn rebuild_on(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    partitions: &BTreeMap<TopicName, usize>,
    watch: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Option<RebuiltMetadata>, BrokerError> {
    let (_lock, identity) = lock_data_dir(&**disk, dir)?;
    if identity.as_ref().is_some_and(|identity| identity.is_on_zookeeper) {
        return Err(EngineError::OnZooKeeper { dir: dir.to_owned() }.into());
    }
    let journal = dir.join(METADATA_DIR);
    let salvage = Salvage::read(&**disk, &journal).map_err(MetadataError::from)?;
    let is_identity_new = identity.is_none();
    if is_identity_new {
        // Refuse before all logs are read.
        owner(dir, &salvage)?;
    }
    let summaries = summarize_logs(disk, dir, watch)?.ok_or(BrokerError::Interrupted)?;
    let identity = match identity {
        Some(identity) => identity,
        None => restore_identity(&**disk, dir, &owner(dir, &salvage)?)?,
    };
    let mut found = FoundCluster {
        cluster_id: identity.cluster_id,
        broker: identity.broker_id,
        topics: Vec::new(),
        unidentified: BTreeSet::new(),
        largest_producer_id: summaries.iter().filter_map(|log| log.largest_producer_id).max(),
    };
    let mut unidentified = Vec::new();
    for log in summaries {
        match log.metadata {
            Ok(metadata) if salvage.is_deleted(metadata.topic_id) => {}
            Ok(metadata) => add_log(&mut found.topics, &log, metadata)?,
            Err(reason) => {
                found.unidentified.insert(log.partition.topic.clone());
                unidentified.push((log.partition, reason));
            }
        }
    }
    for topic in &mut found.topics {
        let asked = partitions.get(&topic.name).copied().unwrap_or(0);
        let default = is_offsets(&topic.name).then(default_offsets_partitions).unwrap_or(0);
        let default = if asked > 0 || salvage.knows(&topic.name, topic.id) { 0 } else { default };
        topic.partitions = topic.partitions.max(asked).max(default);
    }
    let rebuild = salvage.rebuilt(&found).map_err(MetadataError::from)?;
    let is_journal_new = rebuild.is_needed();
    if !is_journal_new && !is_identity_new {
        return Ok(None);
    }
    let set_aside = if is_journal_new { put_in_force(disk, dir, &rebuild)? } else { Vec::new() };
    Ok(Some(RebuiltMetadata {
        is_identity_new,
        is_journal_new,
        topics: rebuild.topics,
        next_producer_id: rebuild.next_producer_id,
        lost_broker_configs: rebuild.lost_broker_configs,
        was_whole: rebuild.was_whole,
        unidentified,
        set_aside,
    }))
}

/// Puts the rebuilt journal in force, and returns the new paths of the old one's files.
fn put_in_force(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    rebuild: &Rebuild,
) -> Result<Vec<PathBuf>, BrokerError> {
    let replaced = rebuild.write(&**disk, &dir.join(METADATA_DIR)).map_err(MetadataError::from)?;
    let mut set_aside = Vec::new();
    for old in replaced {
        let name = old.strip_prefix(dir).unwrap_or(&old).to_string_lossy().into_owned();
        set_aside.push(quarantine(&**disk, dir, &name)?);
    }
    Ok(set_aside)
}

/// The owner of a data directory according to its metadata journal.
fn owner(dir: &Path, salvage: &Salvage) -> Result<Opener, BrokerError> {
    let Some((cluster, broker)) = salvage.owner() else {
        return Err(BrokerError::from(StorageError::Damaged {
            path: dir.join("meta.properties"),
            reason:
                "the metadata journal does not tell the cluster either; restore one of the two \
                     from a backup"
                    .to_owned(),
        }));
    };
    let broker_id = broker.unwrap_or(EngineConfig::default().broker_id);
    Ok(Opener { cluster_id: Some(cluster), broker_id })
}

/// Adds a log to its topic.
fn add_log(
    topics: &mut Vec<FoundTopic>,
    log: &LogSummary,
    metadata: PartitionMetadata,
) -> Result<(), BrokerError> {
    let name = &log.partition.topic;
    let topic = match topics.iter_mut().find(|topic| topic.name == *name) {
        Some(topic) if topic.id != metadata.topic_id => {
            let ids = [topic.id, metadata.topic_id];
            return Err(BrokerError::TopicConflict { topic: name.clone(), ids });
        }
        Some(topic) => topic,
        None => {
            topics.push(found_topic(name, metadata));
            let last = topics.len() - 1;
            &mut topics[last]
        }
    };
    let index = usize::try_from(log.partition.partition.0).unwrap_or(0);
    topic.partitions = topic.partitions.max(index + 1);
    topic.epochs.insert(log.partition.partition, log.latest_epoch.max(LeaderEpoch::NONE));
    Ok(())
}

fn found_topic(name: &TopicName, metadata: PartitionMetadata) -> FoundTopic {
    let mut required = Configs::new();
    if metadata.offset_unit == OffsetUnit::Byte {
        required.insert(OFFSET_UNIT.to_owned(), metadata.offset_unit.to_string());
    }
    let defaults = if is_offsets(name) {
        OffsetsTopicConfig::default().topic(1).configs
    } else {
        Configs::new()
    };
    FoundTopic {
        name: name.clone(),
        id: metadata.topic_id,
        partitions: 0,
        required,
        defaults,
        epochs: BTreeMap::new(),
    }
}

fn is_offsets(name: &TopicName) -> bool {
    name.as_str() == TopicName::CONSUMER_OFFSETS
}

fn default_offsets_partitions() -> usize {
    usize::try_from(OffsetsTopicConfig::default().partitions).unwrap_or_default()
}
