//! The topics of a consumer, with their numbers of partitions.

use std::sync::Arc;
use std::time::Duration;

use super::config::Start;
use crate::client::ClientError;
use crate::client::call::Call;
use crate::client::cluster::Brokers;
use crate::client::core::Core;
use crate::client::error::topic_name;
use crate::types::{TopicName, TopicPartition};

/// The time for which a missing topic is looked up again in a cluster of several brokers: it may
/// have been created on another broker a moment ago.
const SPREADING_MAX: Duration = Duration::from_secs(1);

/// Parses and deduplicates topic names.
pub(super) fn distinct(topics: &[&str]) -> Result<Vec<TopicName>, ClientError> {
    let names: Result<Vec<TopicName>, ClientError> =
        topics.iter().map(|topic| topic_name(topic)).collect();
    let mut names = names?;
    names.sort();
    names.dedup();
    Ok(names)
}

/// The topics of some partitions, without duplicates.
pub(super) fn topics_of(partitions: &[(TopicPartition, Start)]) -> Vec<TopicName> {
    let mut names: Vec<TopicName> =
        partitions.iter().map(|(partition, _)| partition.topic.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// Fails if a topic does not have one of the partitions.
pub(super) fn check_found(
    partitions: &[(TopicPartition, Start)],
    names: &[TopicName],
    counts: &[usize],
) -> Result<(), ClientError> {
    for (partition, _) in partitions {
        let place = names.iter().position(|name| *name == partition.topic);
        let count = place.map_or(0, |place| counts[place]);
        if !usize::try_from(partition.partition.0).is_ok_and(|index| index < count) {
            return Err(ClientError::no_topic(partition));
        }
    }
    Ok(())
}

/// Returns the number of partitions of each topic. Unless brokers may create topics, a missing
/// topic is an error: at once if the cluster has a single broker, otherwise after `SPREADING_MAX`.
pub(super) fn find(core: &Core, names: Vec<TopicName>, may_create: bool) -> Call<Vec<usize>> {
    let brokers = Arc::clone(&core.brokers);
    core.call(async move {
        let deadline = brokers.deadline("finding topics", brokers.config().timeout);
        let mut counts = Vec::with_capacity(names.len());
        for name in &names {
            let spread_at = brokers.clock().monotonic().saturating_add(SPREADING_MAX);
            let looking = || async {
                match brokers.topic(name, may_create).await {
                    Err(ClientError::TopicNotFound { .. })
                        if !may_create && is_final(&brokers, spread_at) =>
                    {
                        Ok(None)
                    }
                    found => found.map(|info| Some(info.partitions.len())),
                }
            };
            let found = match brokers.until(deadline, &[], looking).await {
                Ok(found) => found.ok_or_else(|| ClientError::no_topic(name)),
                Err(error) => Err(error),
            };
            match found {
                Ok(count) => counts.push(count),
                Err(error) => return Err(brokers.with_nearest(error).await),
            }
        }
        Ok(counts)
    })
}

/// Returns true if the answer that a topic does not exist is conclusive.
fn is_final(brokers: &Brokers, spread_at: Duration) -> bool {
    brokers.is_single() || brokers.clock().monotonic() >= spread_at
}
