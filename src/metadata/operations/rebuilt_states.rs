//! The state of a partition that somebody has deleted or damaged, made again on an operator's
//! request.
//!
//! Nobody knows any more which replicas were in sync. So all of them count as the last that were,
//! and each is to report its log before one leads (rule R21 in docs/replication.md).

use std::sync::Arc;

use crate::metadata::controller::Basis;
use crate::metadata::image::{
    Caching, DirectoryId, Image, Incarnation, IsrMember, Loss, PartitionState,
};
use crate::metadata::in_sync::rules;
use crate::metadata::layout::{NodePath, UNCLEAN_ELECTIONS};
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::store::{Op, Store};
use crate::metadata::values::{UncleanElectionValue, decode, encode_state};
use crate::metadata::{DecisionRefusal, Metadata, MetadataError};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicName};

impl Metadata {
    /// Makes the state of a partition that is missing or cannot be read: without a leader, in the
    /// leader epoch `epoch`, which must be above that of any record.
    ///
    /// # Errors
    /// `UnknownTopic`, `StateInForce` if there is a state that can be read or the controller is to
    /// make one, or the errors of the store.
    pub async fn rebuild_state(
        &self,
        topic: &TopicName,
        partition: PartitionIndex,
        epoch: LeaderEpoch,
    ) -> Result<(), MetadataError> {
        let of_topic = [
            NodePath::Topic(topic.clone()),
            NodePath::Partitions(topic.clone()),
            NodePath::PartitionState(topic.clone(), partition),
            NodePath::TopicConfig(topic.clone()),
            NodePath::BrokerConfig(None),
        ];
        let mut attempts = Attempts::default();
        loop {
            let image = Arc::clone(&self.image().borrow());
            let found = image.partition(topic, partition);
            let replicas = found.iter().flat_map(|found| found.replicas.iter().copied());
            let of_brokers =
                replicas.flat_map(|id| [NodePath::Broker(id), NodePath::KnownBroker(id)]);
            let paths = of_topic.iter().cloned().chain(of_brokers).map(|path| path.to_string());
            self.reload(&paths.collect::<Vec<_>>()).await?;
            let image = Arc::clone(&self.image().borrow());
            let store = self.store();
            let parents = [
                NodePath::Partitions(topic.clone()),
                NodePath::Partition(topic.clone(), partition),
            ]
            .map(|path| path.to_string());
            let found = store.read(&parents).await?;
            let missing = parents.into_iter().zip(found).filter(|(_, node)| node.is_none());
            let mut ops: Vec<Op> = missing.map(|(path, _)| Op::create(path, "")).collect();
            let loss = self.last_loss(&*store, &image, topic, partition).await?;
            let basis = Basis::on_request(&image, &self.config);
            ops.extend(rebuilding(basis, (topic, partition), epoch, loss)?);
            match self.execute(&*store, ops).await {
                Ok(_) => return Ok(()),
                Err(error) => attempts.again(error)?,
            }
        }
    }

    /// The last loss of records of a partition that an operator accepted, as its record tells:
    /// without it, replicas would count records as committed that were given up.
    async fn last_loss(
        &self,
        store: &dyn Store,
        image: &Image,
        topic: &TopicName,
        partition: PartitionIndex,
    ) -> Result<Option<Loss>, MetadataError> {
        let Some(topic) = image.topic(topic) else { return Ok(None) };
        if store.get(UNCLEAN_ELECTIONS).await?.is_none() {
            return Ok(None);
        }
        let prefix = format!("{}-{partition}-", topic.id);
        let names = store.children(UNCLEAN_ELECTIONS).await?;
        let epochs = names.iter().filter_map(|name| name.strip_prefix(&prefix)?.parse().ok());
        let epochs: Vec<i32> = epochs.collect();
        let Some(last) = epochs.iter().max() else { return Ok(None) };
        let node = store.get(&format!("{UNCLEAN_ELECTIONS}/{prefix}{last}")).await?;
        let value: Option<UncleanElectionValue> = node.and_then(|node| decode(&node.value).ok());
        let from = value.and_then(|value| Offset::checked(value.given_up_from));
        Ok(Some(Loss {
            generation: i32::try_from(epochs.len()).unwrap_or(i32::MAX),
            leader_epoch: LeaderEpoch(*last),
            from: from.unwrap_or(Offset::ZERO),
        }))
    }
}

/// The operations that make the state.
fn rebuilding(
    basis: Basis<'_>,
    (name, index): (&TopicName, PartitionIndex),
    epoch: LeaderEpoch,
    loss: Option<Loss>,
) -> Result<Vec<Op>, MetadataError> {
    let image = basis.image;
    let unknown = || MetadataError::UnknownTopic(name.to_string());
    let topic = image.topic(name).ok_or_else(unknown)?;
    let partition = topic.partition(index).ok_or_else(unknown)?;
    let path = NodePath::PartitionState(name.clone(), index).to_string();
    let broken = image.broken().get(&path);
    if partition.state.is_some() || broken.is_none() && topic.is_new(index) {
        return Err(DecisionRefusal::StateInForce.into());
    }
    let state = of_all_replicas(image, &partition.replicas, epoch)?;
    // If it caches, its disks may have lost records that others have recorded as committed.
    let caching = match basis.caches(topic) {
        Some(is_set) => rules::caching_by_setting(Caching::Off, Some(is_set)),
        None => Caching::Ending,
    };
    let state = encode_state(&PartitionState { loss, caching, ..state });
    let topic = Op::check(NodePath::Topic(name.clone()).to_string(), topic.version);
    Ok(vec![
        topic,
        match broken {
            Some(node) => Op::set(path, state, node.version),
            None => Op::create(path, state),
        },
    ])
}

/// The state in which all replicas are the last that were in sync, and all have to report.
fn of_all_replicas(
    image: &Image,
    replicas: &[BrokerId],
    epoch: LeaderEpoch,
) -> Result<PartitionState, DecisionRefusal> {
    let member =
        |broker: &BrokerId| IsrMember { broker: *broker, incarnation: Incarnation::UNKNOWN };
    // That of a broker that does not run is needed too: without it, the broker would not count as
    // one that may have more records.
    let directory = |broker: &BrokerId| {
        let known = image.known_broker(*broker).and_then(|known| known.directory_id.as_deref());
        let registered = image.broker(*broker).map(|broker| &broker.registration);
        if known.is_none() && registered.is_none() {
            return Err(DecisionRefusal::UnknownDirectory(*broker));
        }
        let directory = known.or_else(|| registered?.directory_id.as_deref());
        Ok(directory.map(DirectoryId::from))
    };
    let directories: Result<Vec<_>, DecisionRefusal> = replicas.iter().map(directory).collect();
    Ok(PartitionState {
        leader: None,
        leader_incarnation: Incarnation::UNKNOWN,
        leader_epoch: epoch,
        isr: replicas.iter().map(member).collect(),
        directories: directories?,
        eligible: Vec::new(),
        minimum: Some(replicas.len()),
        damaged: Vec::new(),
        is_handed_over: false,
        loss: None,
        unvouched: None,
        caching: Caching::Off,
        caching_ended: None,
        created: 0,
        version: 0,
        controller_epoch: 0,
        extra: serde_json::Map::new(),
    })
}
