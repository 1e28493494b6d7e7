//! The election of a leader that lacks acknowledged records, on an operator's request.
//!
//! One transaction writes the new state and a node that records which operator gave up which
//! records. The transaction fails if a broker that may have the partition's records has registered
//! since just before the decision, because that broker might have all of them.

use std::sync::Arc;

use crate::metadata::controller::{Basis, elect_unclean};
use crate::metadata::image::{Image, Partition, PartitionState, Topic};
use crate::metadata::in_sync::UncleanRequest;
use crate::metadata::layout::{NodePath, UNCLEAN_ELECTIONS};
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::store::{Node, Op, Store, StoreError};
use crate::metadata::values::{UncleanElectionValue, encode, encode_state};
use crate::metadata::{Metadata, MetadataError};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicName};

/// An election that gives up records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncleanElection {
    /// The topic.
    pub topic: TopicName,
    /// The partition.
    pub partition: PartitionIndex,
    /// The replica that is to lead.
    pub leader: BrokerId,
    /// The end of the log of `leader`, as shown to the operator: records from it on are given up.
    pub given_up_from: Offset,
    /// True if a leader that may be alive is replaced too.
    pub accepts_two_leaders: bool,
    /// The name and address of the client that asks for it.
    pub asked_by: String,
}

impl Metadata {
    /// Elects a leader that lacks acknowledged records, and returns its leader epoch.
    ///
    /// # Errors
    /// `UnknownTopic`, `Unclean` with the reason for a refusal, or the errors of the store.
    pub async fn elect_unclean(
        &self,
        wanted: &UncleanElection,
    ) -> Result<LeaderEpoch, MetadataError> {
        let mut attempts = Attempts::default();
        loop {
            let store = self.store();
            let image = Arc::clone(&self.image().borrow());
            let (_, partition) = find(&image, wanted)?;
            // Read the versions first. Those of the known brokers rise with every registration, so
            // if they are unchanged at the write, the registrations read below are current.
            let known = self.versions(&*store, partition, wanted.leader).await?;
            self.reload(&paths_of(wanted, partition)).await?;
            let image = Arc::clone(&self.image().borrow());
            let (ops, epoch) = self.unclean_ops(&image, wanted)?;
            let parent = self.parent_if_absent(&*store).await?;
            let ops = known.into_iter().chain(parent).chain(ops).collect();
            match self.execute(&*store, ops).await {
                Ok(_) => return Ok(epoch),
                Err(error) => attempts.again(error)?,
            }
        }
    }

    /// The checks that no broker that may have the partition's records has registered meanwhile,
    /// and that the registration of the new leader is unchanged.
    async fn versions(
        &self,
        store: &dyn Store,
        partition: &Partition,
        leader: BrokerId,
    ) -> Result<Vec<Op>, MetadataError> {
        let known = brokers_of(partition).map(NodePath::KnownBroker);
        let nodes = known.chain([NodePath::Broker(leader)]);
        let paths: Vec<String> = nodes.map(|path| path.to_string()).collect();
        let nodes = store.read(&paths).await?;
        let check = |(path, node): (String, Option<Node>)| Some(Op::check(path, node?.version));
        Ok(paths.into_iter().zip(nodes).filter_map(check).collect())
    }

    /// The operations of the election, and the leader epoch that it begins.
    fn unclean_ops(
        &self,
        image: &Image,
        wanted: &UncleanElection,
    ) -> Result<(Vec<Op>, LeaderEpoch), MetadataError> {
        let (topic, partition) = find(image, wanted)?;
        let basis = Basis::on_request(image, &self.config);
        let UncleanElection { leader, given_up_from, accepts_two_leaders, .. } = *wanted;
        let request = UncleanRequest { leader, given_up_from, accepts_two_leaders };
        let state = elect_unclean(basis, (topic, wanted.partition), request)?;
        let record = self.record(wanted, (topic, partition), &state);
        let name = format!("{}-{}-{}", topic.id, wanted.partition, state.leader_epoch);
        let path = NodePath::PartitionState(wanted.topic.clone(), wanted.partition).to_string();
        let ops = vec![
            Op::check(NodePath::Topic(wanted.topic.clone()).to_string(), topic.version),
            Op::set(path, encode_state(&state), state.version),
            Op::create(format!("{UNCLEAN_ELECTIONS}/{name}"), encode(&record)),
        ];
        Ok((ops, state.leader_epoch))
    }

    /// The record of the election for people.
    fn record(
        &self,
        wanted: &UncleanElection,
        (topic, before): (&Topic, &Partition),
        after: &PartitionState,
    ) -> UncleanElectionValue {
        UncleanElectionValue {
            version: 1,
            topic: wanted.topic.to_string(),
            topic_id: topic.id.to_string(),
            partition: wanted.partition.0,
            leader: wanted.leader.0,
            leader_epoch: after.leader_epoch.0,
            given_up_from: wanted.given_up_from.get(),
            in_sync_before: before.isr().iter().map(|member| member.broker.0).collect(),
            accepts_two_leaders: wanted.accepts_two_leaders,
            asked_by: wanted.asked_by.clone(),
            timestamp: self.clock.now().millis().to_string(),
        }
    }

    /// The creation of the parent of all such records, if it does not exist yet.
    async fn parent_if_absent(&self, store: &dyn Store) -> Result<Option<Op>, StoreError> {
        let parent = store.get(UNCLEAN_ELECTIONS).await?;
        Ok(parent.is_none().then(|| Op::create(UNCLEAN_ELECTIONS, "")))
    }
}

fn find<'a>(
    image: &'a Image,
    wanted: &UncleanElection,
) -> Result<(&'a Topic, &'a Partition), MetadataError> {
    let unknown = || MetadataError::UnknownTopic(wanted.topic.to_string());
    let topic = image.topic(&wanted.topic).ok_or_else(unknown)?;
    let partition = topic.partition(wanted.partition).ok_or_else(unknown)?;
    Ok((topic, partition))
}

/// The brokers that may have the records of a partition.
fn brokers_of(partition: &Partition) -> impl Iterator<Item = BrokerId> {
    let members = partition.isr().iter().map(|member| member.broker);
    let eligible = partition.state.iter().flat_map(|state| &state.eligible);
    let others = members.chain(eligible.map(|replica| replica.broker));
    let mut brokers: Vec<BrokerId> = partition.replicas.iter().copied().chain(others).collect();
    brokers.sort_unstable();
    brokers.dedup();
    brokers.into_iter()
}

/// The nodes to read again before the decision: the topic, the partition's state, and the
/// registrations of the brokers that may have its records.
fn paths_of(wanted: &UncleanElection, partition: &Partition) -> Vec<String> {
    let brokers = brokers_of(partition).map(NodePath::Broker);
    let state = NodePath::PartitionState(wanted.topic.clone(), wanted.partition);
    let own = [state, NodePath::Topic(wanted.topic.clone())];
    brokers.chain(own).map(|path| path.to_string()).collect()
}
