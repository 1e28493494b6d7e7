//! The unregistration of a broker that will not return.
//!
//! A broker keeps its place in the cluster while it is down: the cluster remembers its data
//! directory, and may assign replicas to it. An operator ends that by unregistering the broker.

use crate::metadata::image::Image;
use crate::metadata::layout::NodePath;
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::store::{Op, Store};
use crate::metadata::{Metadata, MetadataError};
use crate::types::{BrokerId, TopicPartition};

/// The maximum number of partitions that an error names.
const NAMED_MAX: usize = 10;

/// The reason why a broker is not unregistered.
#[derive(Debug, thiserror::Error)]
pub enum UnregisterError {
    /// No such broker has ever registered, or it was unregistered already.
    #[error("no broker {0} is known")]
    Unknown(BrokerId),
    /// The broker is alive.
    #[error("broker {0} is registered: stop it first")]
    Registered(BrokerId),
    /// Partitions have replicas on it.
    #[error("broker {broker} has replicas of {}: delete or move them first", named(partitions))]
    HasReplicas {
        /// The broker.
        broker: BrokerId,
        /// The partitions.
        partitions: Vec<TopicPartition>,
    },
    /// The store failed or refused the operation.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
}

impl Metadata {
    /// Unregisters a broker that is not alive and has no replicas. If it registers again, it counts
    /// as a new broker.
    ///
    /// # Errors
    /// The reason why the broker is not unregistered, and the errors of the store.
    pub async fn unregister(&self, broker: BrokerId) -> Result<(), UnregisterError> {
        let mut attempts = Attempts::default();
        loop {
            let store = self.store();
            let op = self.removal(&*store, broker).await?;
            match self.execute(&*store, vec![op]).await {
                Ok(_) => return Ok(()),
                Err(error) => attempts.again(error)?,
            }
        }
    }

    /// The removal of the broker's node below `/streamlog/brokers`, which fails if the broker has
    /// registered since.
    async fn removal(&self, store: &dyn Store, broker: BrokerId) -> Result<Op, UnregisterError> {
        let known = NodePath::KnownBroker(broker).to_string();
        // Without its registration, which somebody may have deleted, a broker may still live.
        let live = [NodePath::Broker(broker), NodePath::Session(broker)];
        let live = live.map(|node| node.to_string());
        // Read the version first: it rises with every registration, so the removal fails if the
        // broker registers after the checks below.
        let version = store.get(&known).await.map_err(MetadataError::from)?;
        let version = version.ok_or(UnregisterError::Unknown(broker))?.version;
        let found = store.read(&live).await.map_err(MetadataError::from)?;
        if found.iter().flatten().any(|node| node.owner.is_some()) {
            return Err(UnregisterError::Registered(broker));
        }
        let partitions = replicas_of(&self.image().borrow(), broker);
        if !partitions.is_empty() {
            return Err(UnregisterError::HasReplicas { broker, partitions });
        }
        Ok(Op::delete(known, version))
    }
}

fn replicas_of(image: &Image, broker: BrokerId) -> Vec<TopicPartition> {
    image.partitions_of(broker).collect()
}

/// The names of the first partitions, and the number of the others.
fn named(partitions: &[TopicPartition]) -> String {
    let names: Vec<_> = partitions.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    match partitions.len().saturating_sub(NAMED_MAX) {
        0 => names.join(", "),
        others => format!("{} and {others} others", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::io::{Clock, ManualClock};
    use crate::metadata::{MemoryStore, MetadataConfig, NewTopic, Registration};
    use crate::types::Timestamp;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_000)))
    }

    async fn start(store: Arc<dyn Store>, id: i32) -> Metadata {
        let config = MetadataConfig::default();
        let metadata = Metadata::open(store, clock(), BrokerId(id), None, config).await.unwrap();
        metadata.register(&Registration::default()).await.unwrap();
        metadata
    }

    #[tokio::test]
    async fn a_broker_is_forgotten_once_it_is_gone_and_has_no_replica() {
        let first = Arc::new(MemoryStore::new(clock()));
        let second = Arc::new(first.another());
        let metadata = start(Arc::<MemoryStore>::clone(&first), 1).await;
        start(Arc::<MemoryStore>::clone(&second), 2).await;
        metadata.reload(&["/brokers/ids/2".to_owned()]).await.unwrap();
        let topic = NewTopic {
            assignment: vec![vec![BrokerId(1), BrokerId(2)]],
            ..NewTopic::named("clicks".parse().unwrap())
        };
        metadata.create_topic(&topic, &|_, _| Ok(())).await.unwrap();

        let two = BrokerId(2);
        let refused = metadata.unregister(two).await.unwrap_err();
        assert!(matches!(refused, UnregisterError::Registered(id) if id == two), "{refused}");
        second.expire();
        let refused = metadata.unregister(two).await.unwrap_err().to_string();
        assert_eq!(refused, "broker 2 has replicas of clicks-0: delete or move them first");
        let unknown = metadata.unregister(BrokerId(4)).await.unwrap_err();
        assert!(matches!(unknown, UnregisterError::Unknown(_)), "{unknown}");
    }

    #[tokio::test]
    async fn a_forgotten_broker_is_unknown() {
        let first = Arc::new(MemoryStore::new(clock()));
        let second = Arc::new(first.another());
        let metadata = start(Arc::<MemoryStore>::clone(&first), 1).await;
        start(Arc::<MemoryStore>::clone(&second), 2).await;
        second.expire();
        // Nodes that were created by hand belong to no broker.
        let by_hand = ["/brokers/ids/2", "/streamlog/sessions/2"].map(|path| Op::create(path, ""));
        first.multi(by_hand.to_vec()).await.unwrap();
        metadata.unregister(BrokerId(2)).await.unwrap();
        assert!(first.get("/streamlog/brokers/2").await.unwrap().is_none());
        let unknown = metadata.unregister(BrokerId(2)).await.unwrap_err();
        assert!(matches!(unknown, UnregisterError::Unknown(_)), "{unknown}");
    }

    #[test]
    fn an_error_names_a_few_partitions() {
        let topic: crate::types::TopicName = "t".parse().unwrap();
        let partition = |index| TopicPartition {
            topic: topic.clone(),
            partition: crate::types::PartitionIndex(index),
        };
        let partitions: Vec<_> = (0..12).map(partition).collect();
        assert!(named(&partitions).ends_with("t-9 and 2 others"), "{}", named(&partitions));
        assert_eq!(named(&partitions[..2]), "t-0, t-1");
    }
}
