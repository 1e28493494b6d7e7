//! The state of a topic as a broker knows it, for other brokers to catch up with.

use crate::metadata::image::{Image, Partition};
use crate::types::{LeaderEpoch, TopicId};

/// The state of a topic in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicState {
    /// The topic id.
    pub id: TopicId,
    /// The leader epoch of each partition; `None` if the topic is deleted.
    pub leader_epochs: Option<Vec<LeaderEpoch>>,
    /// The version of the node with the topic's settings, if it exists.
    pub config_version: Option<i32>,
}

impl TopicState {
    /// The state of a topic that exists, or has existed.
    pub fn of(image: &Image, id: TopicId) -> Self {
        let topic = image.topic_by_id(id);
        let epochs =
            topic.map(|topic| topic.partitions.iter().map(Partition::leader_epoch).collect());
        let config_version = topic.and_then(|topic| topic.config_version);
        Self { id, leader_epochs: epochs, config_version }
    }

    /// Returns true if an image shows this state or a later one.
    pub fn is_known_to(&self, image: &Image) -> bool {
        let Some(epochs) = &self.leader_epochs else { return is_gone(image, self.id) };
        let Some(topic) = image.topic_by_id(self.id) else {
            return image.tombstones().any(|(id, _)| id == self.id);
        };
        let known = topic.partitions.iter().map(Partition::leader_epoch);
        topic.partitions.len() >= epochs.len()
            && known.zip(epochs).all(|(known, epoch)| known >= *epoch)
            && topic.config_version >= self.config_version
    }
}

/// Returns true if no node of a topic is left that another topic of the same name could collide
/// with.
fn is_gone(image: &Image, id: TopicId) -> bool {
    image.topic_by_id(id).is_none() && !image.deleting().any(|topic| topic.id == id)
}
