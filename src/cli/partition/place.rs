//! The partition that a command names.

use crate::cli::CommandError;
use crate::client::{Admin, PartitionDescription};
use crate::config::ConfigError;
use crate::types::{PartitionIndex, TopicPartition};

/// Parses a partition's name such as `orders-0`.
pub(super) fn partition(name: &str) -> Result<TopicPartition, ConfigError> {
    let read = || {
        let (topic, number) = name.rsplit_once('-')?;
        let partition = PartitionIndex(number.parse::<u16>().ok()?.into());
        Some(TopicPartition { topic: topic.parse().ok()?, partition })
    };
    let expected = "expected a topic and the number of a partition, as orders-0";
    read().ok_or_else(|| ConfigError::single(name, expected))
}

/// The description of a partition. Fails if it does not exist, before anything else is reported.
pub(super) fn require(
    admin: &Admin,
    partition: &TopicPartition,
) -> Result<PartitionDescription, CommandError> {
    let mut partitions = admin.topic(partition.topic.as_str())?.partitions;
    let (number, count) = (partition.partition.0, partitions.len());
    match usize::try_from(number) {
        Ok(number) if number < count => Ok(partitions.swap_remove(number)),
        _ => {
            let reason = format!("the topic has {count} partitions, counted from 0");
            Err(ConfigError::single(&partition.to_string(), reason).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_named_by_its_topic_and_its_number() {
        assert_eq!(partition("a-b-7").unwrap().to_string(), "a-b-7");
        for name in ["orders", "orders-", "orders-x", "-0", "a/b-0"] {
            let text = partition(name).unwrap_err().to_string();
            assert!(text.contains(name) && text.contains("as orders-0"), "{text}");
        }
    }
}
