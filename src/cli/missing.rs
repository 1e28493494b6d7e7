//! Errors about names that do not exist, with suggestions.

use crate::cli::CommandError;
use crate::client::{Admin, ClientError, ErrorCode, GroupDescription, TopicDescription};
use crate::config::nearest;

/// Adds a suggestion to an error about a missing topic.
pub(super) fn explained(
    error: CommandError,
    admin: impl FnOnce() -> Option<Admin>,
) -> CommandError {
    let CommandError::Client(cause) = &error else { return error };
    let ClientError::TopicNotFound { topic, .. } = cause else { return error };
    let found = admin().and_then(|admin| Some(missing_topic(topic, &admin.topics().ok()?)));
    found.unwrap_or(error)
}

/// Returns a group, or an error with a suggestion.
pub(super) fn group(admin: &Admin, name: &str) -> Result<GroupDescription, CommandError> {
    let found = admin.group(name);
    if found.as_ref().is_err_and(|error| error.code() == Some(ErrorCode::GroupIdNotFound)) {
        let groups = admin.groups()?;
        return Err(missing("group", name, groups.iter().map(|group| group.group.as_str())));
    }
    Ok(found?)
}

/// Distinguishes a missing topic from a missing partition, whose name ends in its index.
fn missing_topic(name: &str, topics: &[TopicDescription]) -> CommandError {
    let partition = name.rsplit_once('-').and_then(|(topic, number)| {
        let number: i32 = number.parse().ok()?;
        let topic = topics.iter().find(|found| found.name.as_str() == topic)?;
        Some((topic, number))
    });
    if let Some((topic, partition)) = partition {
        let (topic, count) = (topic.name.to_string(), topic.partitions.len());
        return CommandError::PartitionNotFound { topic, partition, count };
    }
    let own = topics.iter().filter(|topic| !topic.is_internal);
    missing("topic", name, own.map(|topic| topic.name.as_str()))
}

fn missing<'a>(
    kind: &'static str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> CommandError {
    let nearest = nearest(name, known).map(str::to_owned);
    CommandError::NotFound { kind, name: name.to_owned(), nearest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TopicId;

    fn words(name: &str) -> String {
        let topic = |name: &str| TopicDescription {
            name: name.parse().unwrap(),
            id: TopicId::NONE,
            is_internal: name.starts_with("__"),
            partitions: Vec::new(),
        };
        missing_topic(name, &["orders", "clicks", "__order"].map(topic)).to_string()
    }

    #[test]
    fn a_similar_name_is_suggested() {
        assert_eq!(words("ordrs"), "there is no topic 'ordrs'; did you mean 'orders'?");
        assert_eq!(words("payments"), "there is no topic 'payments'");
        assert_eq!(words("_order"), "there is no topic '_order'; did you mean 'orders'?");
    }

    #[test]
    fn a_missing_partition_is_not_reported_as_a_missing_topic() {
        assert_eq!(
            words("orders-9"),
            "topic 'orders' has no partition 9: it has 0, numbered from 0"
        );
        assert!(words("orders-x").starts_with("there is no topic"));
    }
}
