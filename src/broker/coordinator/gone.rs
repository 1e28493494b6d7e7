//! Which committed offsets have lost their topic.

use crate::metadata::Image;
use crate::types::{TopicId, TopicName};

/// Whether the topic whose offsets were committed is gone, be there another of its name or not.
/// The image must not be older than the one that knew the topic when they were; a broker's own
/// never goes back.
pub(crate) fn is_gone(image: &Image, name: &TopicName, id: TopicId) -> bool {
    match image.topic(name) {
        Some(topic) => id != TopicId::NONE && id != topic.id,
        // A node that cannot be read may be the topic's: it is there, and nobody knows it.
        None => image.broken().is_empty(),
    }
}
