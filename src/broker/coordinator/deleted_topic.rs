//! Committed offsets of deleted topics.

use crate::metadata::Image;
use crate::types::{TopicId, TopicName};

/// Returns true if the topic to which the offsets belong no longer exists, even if there is a new
/// topic of that name. The image must be at least as new as when the offsets were committed; a
/// broker's own image never goes back.
pub(crate) fn is_topic_deleted(image: &Image, name: &TopicName, id: TopicId) -> bool {
    match image.topic(name) {
        Some(topic) => id != TopicId::NONE && id != topic.id,
        // An unreadable node may be the topic's, which then still exists.
        None => image.broken().is_empty(),
    }
}
