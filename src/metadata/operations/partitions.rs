//! Adding partitions to a topic.

use std::sync::Arc;

use crate::metadata::layout::NodePath;
use crate::metadata::operations::assignment;
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::store::{Op, Store};
use crate::metadata::values::{NewPartitionsValue, TopicValue, decode, encode};
use crate::metadata::{Metadata, MetadataError};
use crate::types::{BrokerId, PartitionIndex, TopicName};

impl Metadata {
    /// Extends a topic to `total` partitions. The new partitions get the replicas in `replicas`, or
    /// are assigned replicas if `replicas` is empty.
    ///
    /// # Errors
    /// `UnknownTopic`. `InvalidPartitions` if the topic already has as many, or the topic or a
    /// broker would exceed a limit. The fault of the replicas.
    pub async fn create_partitions(
        &self,
        name: &TopicName,
        total: i32,
        replicas: &[Vec<BrokerId>],
    ) -> Result<(), MetadataError> {
        let _turn = self.creation_lock.lock().await;
        let mut attempts = Attempts::default();
        loop {
            let store = self.store();
            // Read this first: if the controller notes meanwhile that earlier partitions are made,
            // this transaction fails.
            let path = NodePath::Partitions(name.clone()).to_string();
            let parent = store.get(&path).await?;
            let (op, added) = self.added_partitions(&*store, name, total, replicas).await?;
            let present = total - i32::try_from(added.len()).unwrap_or(total);
            let known = parent.as_ref().map(|node| NewPartitionsValue::first_in(&node.value));
            let known = known.and_then(Result::ok).flatten();
            let new_from =
                known.map_or(PartitionIndex(present), |known| known.min(PartitionIndex(present)));
            let new = NewPartitionsValue::from(new_from);
            let grows = match parent {
                Some(node) => Op::set(path, new, node.version),
                None => Op::create(path, new),
            };
            match self.execute(&*store, vec![op, grows]).await {
                Ok(_) => return Ok(()),
                Err(error) => attempts.again(error)?,
            }
        }
    }

    /// Checks whether a topic could be extended like this, and returns the replicas that the new
    /// partitions would have.
    ///
    /// # Errors
    /// The errors of [`Metadata::create_partitions`].
    pub async fn check_new_partitions(
        &self,
        name: &TopicName,
        total: i32,
        replicas: &[Vec<BrokerId>],
    ) -> Result<Vec<Vec<BrokerId>>, MetadataError> {
        self.added_partitions(&*self.store(), name, total, replicas)
            .await
            .map(|(_, replicas)| replicas)
    }

    async fn added_partitions(
        &self,
        store: &dyn Store,
        name: &TopicName,
        total: i32,
        replicas: &[Vec<BrokerId>],
    ) -> Result<(Op, Vec<Vec<BrokerId>>), MetadataError> {
        let path = NodePath::Topic(name.clone()).to_string();
        let image = Arc::clone(&self.image().borrow());
        let node = match image.topic(name) {
            Some(_) => store.get(&path).await?,
            None => None,
        };
        let Some(node) = node else {
            return Err(MetadataError::UnknownTopic(name.to_string()));
        };
        let unreadable = |reason| MetadataError::malformed(&path, reason);
        let mut value: TopicValue = decode(&node.value).map_err(unreadable)?;
        let present = value.assignment().map_err(unreadable)?;
        let count = self.partition_count(i64::from(total))?;
        let refuse =
            |reason| Err(MetadataError::InvalidPartitions { asked: i64::from(total), reason });
        if count <= present.len() {
            return refuse(format!("the topic has {} already", present.len()));
        }
        let added = count - present.len();
        let factor = present[0].len();
        let replicas = if replicas.is_empty() {
            let asked = i16::try_from(factor).unwrap_or(i16::MAX);
            assignment::spread(assignment::candidates(&image), added, asked, 0)?
        } else {
            assignment::check(&image, replicas, present.len(), Some(factor))?;
            if replicas.len() != added {
                let reason = "as many partitions are assigned as are added";
                let partition = present.len() + replicas.len().min(added);
                return Err(MetadataError::InvalidAssignment { partition, reason });
            }
            replicas.to_vec()
        };
        self.require_capacity(&image, &replicas)?;
        value.add_partitions(&replicas);
        Ok((Op::set(path, encode(&value), node.version), replicas))
    }
}
