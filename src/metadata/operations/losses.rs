//! Records that the disk of this broker has lost (rule R7 in docs/replication.md): it names the
//! partitions when it registers, and gives the records up once the controller has struck its
//! replicas out.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::metadata::image::{Image, IsrMember};
use crate::metadata::in_sync::rules;
use crate::metadata::layout::NodePath;
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::{Metadata, MetadataError};
use crate::types::{PartitionIndex, TopicId};

/// A partition of a topic with this id.
type Replica = (TopicId, PartitionIndex);

impl Metadata {
    /// The replicas with losses that can no longer be elected for the records that they had before.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn struck_out(&self) -> Result<Vec<Replica>, MetadataError> {
        let Some(registration) = self.registration.lock().await.clone() else {
            return Ok(Vec::new());
        };
        let Some(directory) = &registration.directory_id else { return Ok(Vec::new()) };
        let struck_out = |image: &Image| -> Vec<Replica> {
            // The controller must have seen a loss before it can have struck the replica out.
            let Some(registered) = image.broker(self.broker) else { return Vec::new() };
            let is_registered = |lost: &Replica| registered.registration.lost.contains(lost);
            let lost = registration.lost.iter().copied().filter(is_registered);
            lost.filter(|replica| self.is_struck_out(image, replica, directory)).collect()
        };
        let image = self.image();
        let expected = struck_out(&image.borrow());
        if expected.is_empty() {
            return Ok(expected);
        }
        // Read the states again: the image may be older than this registration, and in between the
        // leader may have let the previous incarnation of this broker join.
        let path = |(id, index): &Replica| {
            let name = image.borrow().topic_by_id(*id)?.name.clone();
            Some(NodePath::PartitionState(name, *index).to_string())
        };
        let paths: Vec<String> = expected.iter().filter_map(path).collect();
        self.reload(&paths).await?;
        let known = struck_out(&image.borrow());
        Ok(expected.into_iter().filter(|replica| known.contains(replica)).collect())
    }

    /// Names the replicas that have lost records in the registration of this broker, and in later
    /// ones, unless it names just these.
    ///
    /// # Errors
    /// Those of the store. Even then, later registrations name them.
    pub async fn report_losses(&self, replicas: &BTreeSet<Replica>) -> Result<(), MetadataError> {
        if let Some(registration) = &mut *self.registration.lock().await {
            registration.lost.clone_from(replicas);
        }
        let image = Arc::clone(&self.image().borrow());
        let registered = image.broker(self.broker);
        if registered.is_none_or(|broker| broker.registration.lost == *replicas) {
            return Ok(());
        }
        let mut attempts = Attempts::default();
        loop {
            let change = self.change_registration(|own| own.lost.clone_from(replicas));
            match change.await {
                Ok(()) => return Ok(()),
                Err(error) => attempts.again(error)?,
            }
        }
    }

    /// Registers that this broker has given up the records that it had lost of these partitions.
    ///
    /// # Errors
    /// Those of the store. Even then, later registrations no longer name these partitions.
    pub async fn losses_given_up(&self, replicas: &[Replica]) -> Result<(), MetadataError> {
        let remains = |lost: &Replica| !replicas.contains(lost);
        if let Some(registration) = &mut *self.registration.lock().await {
            registration.lost.retain(remains);
        }
        self.change_registration(|registration| registration.lost.retain(remains)).await
    }

    fn is_struck_out(&self, image: &Image, (id, index): &Replica, directory: &str) -> bool {
        let Some(incarnation) = self.membership().map(|own| own.incarnation) else { return false };
        let own = IsrMember { broker: self.broker, incarnation };
        let partition = image.topic_by_id(*id).and_then(|topic| topic.partition(*index));
        let state = partition.and_then(|partition| partition.state.as_ref());
        state.is_some_and(|state| rules::is_struck_out(state, &own, directory))
    }
}
