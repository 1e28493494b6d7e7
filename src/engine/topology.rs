//! Keeps the partitions of this broker in line with the cluster image.
//!
//! An image is applied as a whole: intermediate images may be skipped. A partition stays the same
//! through all its leader epochs, until its topic is deleted or its replica is moved elsewhere.
//! Nothing here waits for a disk: `local_data` does what has to.

use std::sync::{Arc, PoisonError};

use crate::config::Settings;
use crate::engine::topic_settings::resolve;
use crate::engine::{EngineState, log_defaults};
use crate::metadata::{
    Configs, Image, IsrMember, Partition as PartitionImage, Topic as TopicImage,
};
use crate::replication::{Assignment, Partition, PartitionSpec, Role, Topic};
use crate::storage::{CleanupPolicy, LogConfig};
use crate::types::{PartitionIndex, TopicId, TopicPartition};

/// Applies the current image and, from now on, the latest image after each change.
pub(crate) fn follow(engine: &Arc<EngineState>) {
    let mut images = engine.metadata.image();
    images.borrow_and_update();
    apply_latest(engine);
    let following = Arc::clone(engine);
    engine.control.start(async move {
        loop {
            tokio::select! {
                biased;
                () = following.stopping.cancelled() => return,
                () = following.losses.found() => {}
                changed = images.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    images.borrow_and_update();
                }
            }
            apply_latest(&following);
        }
    });
}

/// Applies the latest image.
pub(super) fn apply_latest(engine: &Arc<EngineState>) {
    let mut applied = engine.applied_image.lock().unwrap_or_else(PoisonError::into_inner);
    *applied = engine.image();
    apply(engine, &applied);
}

/// Brings the partitions in line with the image, and notifies callers that wait for it.
fn apply(engine: &Arc<EngineState>, image: &Image) {
    let defaults = log_defaults(&engine.config, image);
    let topics: Vec<_> =
        image.topics().map(|topic| hosted(engine, image, topic, &defaults)).collect();
    let before = engine.partitions.topics();
    engine.partitions.replace(topics);
    for partition in before.iter().flat_map(|topic| topic.partitions()) {
        let id = partition.id();
        let now = engine.partitions.get(id.topic.as_str(), id.partition);
        if !now.is_some_and(|now| Arc::ptr_eq(&now, partition)) {
            partition.stop(
                "its topic was deleted, its replica was moved to another broker, or its metadata \
                 cannot be read",
            );
        }
    }
    for partition in engine.partitions.topics().iter().flat_map(|topic| topic.partitions()) {
        // Recovery or upkeep may have opened the log before its settings were known.
        engine.logs.data.set_config(partition.id(), partition.topic_id(), partition.config());
    }
    engine.partitions_changed();
    engine.applied.send_replace(());
}

/// Returns true if the current image has been applied to a topic (which may be deleted), and the
/// listener is ready for it.
pub(crate) fn is_applied(engine: &EngineState, id: TopicId) -> bool {
    let image = engine.image();
    let now = engine.partitions.topic_by_id(id);
    let (topic, now) = match (image.topic_by_id(id), now) {
        (Some(topic), Some(now)) => (topic, now),
        (topic, now) => return topic.is_none() && now.is_none(),
    };
    let config = settings(topic, &log_defaults(&engine.config, &image));
    let serves = replicas(engine, &image, topic).all(|(index, image)| {
        now.partition(index).is_some_and(|partition| {
            let is_current = partition.epoch() == image.leader_epoch();
            is_current && partition.config() == config && leads_as_assigned(partition, image)
        })
    });
    serves && engine.is_ready(&now)
}

/// Returns true if the partition leads, or is not assigned to lead.
fn leads_as_assigned(partition: &Partition, image: &PartitionImage) -> bool {
    image.leader() != Some(partition.broker()) || partition.role() == Role::Leader
}

/// The settings of a topic. Invalid overrides, stored without validation or by another release, are
/// left out, and then the topic keeps all records.
fn settings(topic: &TopicImage, defaults: &LogConfig) -> Arc<LogConfig> {
    resolve(defaults, &topic.configs).unwrap_or_else(|error| {
        tracing::error!(
            "no records of topic '{}' are deleted or compacted, until these settings of it are \
             corrected: {error}",
            topic.name
        );
        Arc::new(valid_part(&topic.configs, defaults))
    })
}

/// The valid overrides of a topic, on top of the broker's settings, but without deletion and
/// compaction: the invalid overrides may be those that keep records.
fn valid_part(overrides: &Configs, defaults: &LogConfig) -> LogConfig {
    let mut config = defaults.clone();
    for (name, value) in overrides {
        // An invalid value leaves the inherited one in force.
        config.set_named(name, value);
    }
    config.cleanup_policy = CleanupPolicy::NONE;
    if config.validate().is_err() {
        let LogConfig { cleanup_policy, offset_unit, .. } = config;
        config = LogConfig { cleanup_policy, offset_unit, ..defaults.clone() };
    }
    config
}

/// The partitions of a topic of which this broker has a replica, with their numbers. A partition is
/// left out if its state is missing or unreadable, and while flushed records of this replica are
/// lost and not yet given up. All are left out if the topic's settings are unreadable, since its
/// guarantees depend on them.
fn replicas<'a>(
    engine: &EngineState,
    image: &Image,
    topic: &'a TopicImage,
) -> impl Iterator<Item = (PartitionIndex, &'a PartitionImage)> {
    let me = engine.config.broker_id;
    let is_served = !image.are_topic_configs_broken(&topic.name);
    topic.numbered().filter(move |(index, partition)| {
        let is_here = partition.replicas.contains(&me) || partition.leader() == Some(me);
        let is_whole = !engine.losses.contains(topic.id, *index);
        is_served && is_here && partition.state.is_some() && is_whole
    })
}

/// A topic's partitions on this broker, each with the role that the image assigns.
fn hosted(engine: &EngineState, image: &Image, topic: &TopicImage, defaults: &LogConfig) -> Topic {
    let config = settings(topic, defaults);
    let incarnation = engine.metadata.incarnation_in(image);
    let own = IsrMember { broker: engine.config.broker_id, incarnation };
    let before = engine.partitions.topic_by_id(topic.id);
    let (now, lease) = (engine.clock.monotonic(), engine.metadata.lease(incarnation));
    let ended = |partition: &PartitionImage| image.ended_replicas(partition);
    let is_removed_first = |partition: &TopicPartition| engine.has_deleted_log(image, partition);
    let partitions = replicas(engine, image, topic).filter_map(|(index, image)| {
        let known = before.as_ref().and_then(|topic| topic.partition(index));
        let state_created = image.state.as_ref().map_or(0, |state| state.created);
        if let Some(known) = known.filter(|known| known.state_created() != state_created) {
            // As after a deletion that this broker has seen: what it knows of the versions of the
            // earlier node, and what it has asked for, is void.
            known.stop("its state was deleted and restored in ZooKeeper");
        }
        // One whose records were lost has stopped for good.
        let known = known.filter(|known| !matches!(known.role(), Role::Stopped(_)));
        // The loss is noted before the partition stops, perhaps only just.
        if known.is_none() && engine.losses.contains(topic.id, index) {
            return None;
        }
        let partition = if let Some(known) = known {
            known.set_config(Arc::clone(&config));
            Arc::clone(known)
        } else {
            let id = TopicPartition { topic: topic.name.clone(), partition: index };
            if is_removed_first(&id) {
                return None;
            }
            create(engine, topic, (id, state_created), &config)
        };
        let lease = (image.replicas.len() > 1).then(|| Arc::clone(&lease));
        let mut assignment = Assignment { lease, ..Assignment::of(image, own, &config) };
        if assignment.lease.is_some() {
            assignment.predecessors.ended = ended(image);
        }
        partition.assign(assignment, now);
        Some(partition)
    });
    Topic::new(topic.name.clone(), topic.id, partitions)
}

fn create(
    engine: &EngineState,
    topic: &TopicImage,
    (partition, state_created): (TopicPartition, i64),
    config: &Arc<LogConfig>,
) -> Arc<Partition> {
    let spec = PartitionSpec {
        partition,
        topic_id: topic.id,
        state_created,
        broker: engine.config.broker_id,
        config: Arc::clone(config),
        rules: engine.rules,
    };
    Partition::new(spec, Arc::clone(&engine.logs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::OffsetUnit;

    fn valid_part_of(overrides: &[(&str, &str)]) -> LogConfig {
        let row = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        valid_part(&overrides.iter().map(row).collect(), &LogConfig::default())
    }

    #[test]
    fn a_topic_with_an_invalid_setting_has_its_valid_ones_and_keeps_its_records() {
        let config = valid_part_of(&[
            ("offset.unit", "byte"),
            ("retention.ms", "for ever"),
            ("segment.bytes", "4096"),
        ]);
        assert_eq!((config.offset_unit, config.segment_size.0), (OffsetUnit::Byte, 4096));
        assert_eq!(config.cleanup_policy, CleanupPolicy::NONE);
        let contradiction =
            [("segment.jitter.ms", "9"), ("segment.ms", "5"), ("offset.unit", "byte")];
        let config = valid_part_of(&contradiction);
        assert_eq!((config.offset_unit, config.validate()), (OffsetUnit::Byte, Ok(())));
        assert_eq!(config.cleanup_policy, CleanupPolicy::NONE);
    }
}
