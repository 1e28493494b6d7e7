//! The topics that a consumer is to read: by name, and how many partitions each has.

use std::sync::Arc;

use super::config::Start;
use crate::client::ClientError;
use crate::client::call::Call;
use crate::client::error::topic_name;
use crate::client::handle::Core;
use crate::types::{TopicName, TopicPartition};

/// The names of topics, each once.
pub(super) fn distinct(topics: &[&str]) -> Result<Vec<TopicName>, ClientError> {
    let names: Result<Vec<TopicName>, ClientError> =
        topics.iter().map(|topic| topic_name(topic)).collect();
    let mut names = names?;
    names.sort();
    names.dedup();
    Ok(names)
}

/// The topics of partitions, each once.
pub(super) fn topics_of(partitions: &[(TopicPartition, Start)]) -> Vec<TopicName> {
    let mut names: Vec<TopicName> =
        partitions.iter().map(|(partition, _)| partition.topic.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// Fails for a partition that its topic does not have.
pub(super) fn check_found(
    partitions: &[(TopicPartition, Start)],
    names: &[TopicName],
    counts: &[usize],
) -> Result<(), ClientError> {
    for (partition, _) in partitions {
        let place = names.iter().position(|name| *name == partition.topic);
        let count = place.map_or(0, |place| counts[place]);
        if !usize::try_from(partition.partition.0).is_ok_and(|index| index < count) {
            return Err(ClientError::TopicNotFound { topic: partition.to_string() });
        }
    }
    Ok(())
}

/// How many partitions each topic has.
pub(super) fn find(core: &Core, names: Vec<TopicName>, may_create: bool) -> Call<Vec<usize>> {
    let brokers = Arc::clone(&core.brokers);
    core.call(async move {
        let deadline = brokers.deadline("finding topics", brokers.config().timeout);
        let mut counts = Vec::with_capacity(names.len());
        for name in &names {
            let looking = || brokers.topic(name, may_create);
            counts.push(brokers.until(deadline, &[], looking).await?.partitions.len());
        }
        Ok(counts)
    })
}
