//! Deleting topics.
//!
//! Creating a tombstone deletes the topic, in one small transaction regardless of its number of
//! partitions. From then on no image shows the topic. The controller removes its nodes, and each
//! broker removes its data and then its own id from the tombstone. When no id is left, the
//! controller removes the tombstone.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::metadata::layout::NodePath;
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::store::{Op, StoreError};
use crate::metadata::values::{TombstoneValue, decode, encode};
use crate::metadata::{Metadata, MetadataError};
use crate::types::{BrokerId, TopicId};

impl Metadata {
    /// Deletes a topic. If this broker is the controller, the name can normally be reused at once.
    ///
    /// # Errors
    /// `UnknownTopic`.
    pub async fn delete_topic(&self, id: TopicId) -> Result<(), MetadataError> {
        let mut attempts = Attempts::default();
        loop {
            let store = self.store();
            let image = Arc::clone(&self.image().borrow());
            let Some(topic) = image.topic_by_id(id) else {
                return Err(MetadataError::UnknownTopic(id.to_string()));
            };
            let replicas = topic.partitions.iter().flat_map(|partition| partition.replicas.iter());
            let pending: BTreeSet<BrokerId> = replicas.copied().collect();
            let tombstone = TombstoneValue::new(
                topic.name.as_str(),
                topic.partitions.len(),
                pending.into_iter().map(|broker| broker.0).collect(),
                self.clock.now().millis(),
            );
            let path = NodePath::Topic(topic.name.clone()).to_string();
            let ops = vec![
                Op::check(path.clone(), topic.version),
                Op::create(NodePath::DeletedTopic(id).to_string(), encode(&tombstone)),
            ];
            match self.execute(&*store, ops).await {
                Ok(_) => return Ok(()),
                Err(MetadataError::Store(StoreError::NodeExists { .. })) => {
                    return Err(MetadataError::UnknownTopic(id.to_string()));
                }
                Err(error) => {
                    attempts.again(error)?;
                    self.reload(&[path]).await?;
                }
            }
        }
    }

    /// Records that this broker has no data of a deleted topic any more.
    ///
    /// # Errors
    /// The errors of the store. A missing tombstone is not an error.
    pub async fn topic_data_removed(&self, id: TopicId) -> Result<(), MetadataError> {
        let path = NodePath::DeletedTopic(id).to_string();
        let mut attempts = Attempts::default();
        loop {
            let store = self.store();
            let Some(node) = store.get(&path).await? else { return Ok(()) };
            let mut value: TombstoneValue =
                decode(&node.value).map_err(|reason| MetadataError::malformed(&path, reason))?;
            if !value.pending.contains(&self.broker.0) {
                return Ok(());
            }
            value.pending.retain(|broker| *broker != self.broker.0);
            let op = Op::set(path.clone(), encode(&value), node.version);
            match self.execute(&*store, vec![op]).await {
                Ok(_) => return Ok(()),
                Err(error) => attempts.again(error)?,
            }
        }
    }
}
