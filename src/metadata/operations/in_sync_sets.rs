//! Changes of in-sync sets and hand-overs, for the leaders of partitions, and the replicas outside
//! the sets that may be elected.
//!
//! The changes of a leader are gathered into transactions. The store executes a transaction as a
//! whole or refuses it because of one operation; the changes that this operation concerns are
//! refused then, and the others are tried again.

use std::collections::{BTreeMap, BTreeSet};

use crate::metadata::image::{Broker, Caching, DirectoryId, IsrMember, PartitionState};
use crate::metadata::in_sync::{
    InSyncOutcome, InSyncStateChange, handed_over, rules, with_damage, with_members, without_damage,
};
use crate::metadata::layout::NodePath;
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::store::{Node, Op, OpResult, SessionError, Store, StoreError};
use crate::metadata::values::{decode_broker, decode_state, encode_state};
use crate::metadata::{Metadata, MetadataError, Remedy};
use crate::types::{BrokerId, PartitionIndex, TopicId};

/// The maximum number of changes of a transaction, which also checks registrations.
const CHANGES_MAX: usize = 400;
/// The maximum size of the new states of a transaction.
const BYTES_MAX: usize = 512 * 1024;

/// A change that is not settled yet.
struct Pending<'a> {
    change: &'a InSyncStateChange,
    outcome: &'a mut InSyncOutcome,
}

/// A change to write.
struct Write<'a> {
    pending: Pending<'a>,
    op: Op,
    /// The brokers that it adds to the in-sync set, or that lead after it.
    checked: BTreeSet<BrokerId>,
}

/// A registered broker, and the operations that fail once it has registered again.
struct Registered {
    broker: Broker,
    checks: Vec<Op>,
}

/// The registered brokers among those that some changes name.
type Registrations = BTreeMap<BrokerId, Registered>;

impl Metadata {
    /// Changes the in-sync sets of partitions that this broker leads. Each change takes effect or
    /// not, independent of the others. Returns their outcomes in order.
    pub async fn change_in_sync(&self, changes: &[InSyncStateChange]) -> Vec<InSyncOutcome> {
        let mut outcomes: Vec<_> = changes.iter().map(InSyncStateChange::unwritten).collect();
        for (changes, outcomes) in changes.chunks(CHANGES_MAX).zip(outcomes.chunks_mut(CHANGES_MAX))
        {
            let pending = changes.iter().zip(outcomes);
            let mut pending =
                pending.map(|(change, outcome)| Pending { change, outcome }).collect::<Vec<_>>();
            while !pending.is_empty() {
                match self.change_some(pending).await {
                    Ok(left) => pending = left,
                    Err(error) => {
                        tracing::warn!(%error, "in-sync sets could not be changed");
                        break;
                    }
                }
            }
        }
        outcomes
    }

    /// Forgets that the replica of this broker is damaged, since its damage is repaired: it may be
    /// preferred as a leader again.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn note_repaired(
        &self,
        topic_id: TopicId,
        partition: PartitionIndex,
    ) -> Result<(), MetadataError> {
        let topic = self.image().borrow().topic_by_id(topic_id).map(|topic| topic.name.clone());
        let Some(topic) = topic else { return Ok(()) };
        let path = NodePath::PartitionState(topic, partition).to_string();
        let registration = self.registration.lock().await.clone().unwrap_or_default();
        let Some(directory) = registration.directory_id else { return Ok(()) };
        let mut attempts = Attempts::default();
        loop {
            let store = self.store();
            let nodes = store.read(std::slice::from_ref(&path)).await?;
            let Some(node) = nodes.into_iter().next().flatten() else { return Ok(()) };
            let Ok(state) = decode_state(&node) else { return Ok(()) };
            let repaired = without_damage(state.clone(), self.broker, &directory);
            if repaired == state {
                return Ok(());
            }
            let op = Op::set(path.clone(), encode_state(&repaired), node.version);
            match self.execute(&*store, vec![op]).await {
                Ok(_) => return Ok(()),
                Err(error) => attempts.again(error)?,
            }
        }
    }

    /// Settles some of the changes, at least one, and returns the others.
    ///
    /// # Errors
    /// If the store cannot be read. Nothing was written then.
    async fn change_some<'a>(
        &self,
        pending: Vec<Pending<'a>>,
    ) -> Result<Vec<Pending<'a>>, MetadataError> {
        let store = self.store();
        let registrations = self.registrations(&*store, &pending).await?;
        let paths: Vec<String> = pending.iter().map(|pending| path_of(pending.change)).collect();
        let nodes = store.read(&paths).await?;
        let (mut writes, mut left, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (pending, node) in pending.into_iter().zip(nodes) {
            match self.decide(pending.change, node.as_ref(), &registrations) {
                Err(outcome) => *pending.outcome = outcome,
                Ok((op, checked)) => {
                    bytes += op.size();
                    if writes.is_empty() || bytes <= BYTES_MAX {
                        writes.push(Write { pending, op, checked });
                    } else {
                        left.push(pending);
                    }
                }
            }
        }
        if !writes.is_empty() {
            left.extend(self.write(&*store, writes, registrations).await);
        }
        Ok(left)
    }

    /// Returns the registrations of this broker and of the brokers that the changes name. A broker
    /// that is not registered is left out.
    async fn registrations(
        &self,
        store: &dyn Store,
        pending: &[Pending<'_>],
    ) -> Result<Registrations, MetadataError> {
        let members = pending.iter().flat_map(|pending| &pending.change.members);
        let brokers: BTreeSet<BrokerId> =
            members.map(|member| member.broker).chain([self.broker]).collect();
        let paths = |of: fn(BrokerId) -> NodePath| -> Vec<String> {
            brokers.iter().map(|broker| of(*broker).to_string()).collect()
        };
        // The version of the first node rises with every registration. It is read before the second
        // node. So if the version is unchanged at the write, the registration that was read is
        // unchanged too.
        let known = store.read(&paths(NodePath::KnownBroker)).await?;
        let live = store.read(&paths(NodePath::Broker)).await?;
        let registered = |((id, known), live): ((&BrokerId, Option<Node>), Option<Node>)| {
            let (known, live) = (known?, live?);
            let broker = decode_broker(*id, &live.value, live.created).ok()?;
            let checks = vec![
                Op::check(NodePath::KnownBroker(*id).to_string(), known.version),
                Op::check(NodePath::Broker(*id).to_string(), live.version),
            ];
            Some((*id, Registered { broker, checks }))
        };
        Ok(brokers.iter().zip(known).zip(live).filter_map(registered).collect())
    }

    /// The operation of a change and the brokers whose registrations it depends on, or the outcome
    /// of a change for which there is nothing to write.
    fn decide(
        &self,
        change: &InSyncStateChange,
        node: Option<&Node>,
        registrations: &Registrations,
    ) -> Result<(Op, BTreeSet<BrokerId>), InSyncOutcome> {
        let (refused, unwritten) = (InSyncOutcome::Refused, change.unwritten());
        let node = node.ok_or(unwritten)?;
        let state = decode_state(node).map_err(|_| unwritten)?;
        // Look at this before the author: the change may be in force although the session that
        // wrote it has ended.
        if is_applied(&state, change) {
            return Err(InSyncOutcome::Applied { version: state.version });
        }
        let own = registrations.get(&self.broker).ok_or(unwritten)?;
        let author = IsrMember { broker: self.broker, incarnation: own.broker.incarnation };
        let is_own = self.membership().is_some_and(|own| own.incarnation == author.incarnation);
        let is_later = (state.created, state.version) != (change.created, change.version);
        if !is_own || is_later || state.leader_epoch != change.leader_epoch {
            // This is not always a refusal: an earlier attempt may have been applied, and the state
            // changed again since, by the controller also in the same leader epoch.
            return Err(unwritten);
        }
        if !rules::is_current(&state, change, &author)
            || !rules::may_have_members(&state, &change.members)
            || !self.is_replicated(change)
        {
            return Err(refused);
        }
        let registered =
            |broker: BrokerId| registrations.get(&broker).map(|registered| &registered.broker);
        let joining = change.members.iter().filter(|member| !state.isr.contains(member));
        let mut checked = BTreeSet::new();
        for member in joining {
            if !rules::may_join(member.incarnation, registered(member.broker)) {
                return Err(refused);
            }
            checked.insert(member.broker);
        }
        if let Some(successor) = &change.successor {
            if !rules::may_succeed(&state, successor, registered(successor.broker)) {
                return Err(refused);
            }
            checked.insert(successor.broker);
        }
        let directory = |broker| {
            let registration = &registered(broker)?.registration;
            registration.directory_id.as_deref().map(DirectoryId::from)
        };
        let mut next = with_members(&state, (change.members.clone(), self.config.rules), directory);
        if change.ends_caching {
            next.caching = Caching::Off;
            next.caching_ended = Some(state.leader_epoch);
        }
        let next = match change.successor {
            Some(successor) => handed_over(next, successor),
            None => next,
        };
        let next = match directory(self.broker) {
            Some(damaged) if change.is_damaged => with_damage(next, author, damaged),
            _ => next,
        };
        Ok((Op::set(path_of(change), encode_state(&next), change.version), checked))
    }

    /// Returns true if the topic still exists, the partition has all members as replicas, and this
    /// broker is one of them.
    fn is_replicated(&self, change: &InSyncStateChange) -> bool {
        let image = self.image();
        let image = image.borrow();
        let topic = image.topic_by_id(change.topic_id);
        let partition = topic
            .filter(|topic| topic.name == change.topic)
            .and_then(|topic| topic.partition(change.partition));
        partition.is_some_and(|partition| {
            let members = || change.members.iter().map(|member| member.broker);
            members().all(|broker| partition.replicas.contains(&broker))
                && members().any(|broker| broker == self.broker)
        })
    }

    /// Executes changes as one transaction, and returns those that it left unsettled.
    async fn write<'a>(
        &self,
        store: &dyn Store,
        writes: Vec<Write<'a>>,
        mut registrations: Registrations,
    ) -> Vec<Pending<'a>> {
        let checked = writes.iter().flat_map(|write| &write.checked).copied();
        let checked: BTreeSet<BrokerId> = checked.chain([self.broker]).collect();
        registrations.retain(|broker, _| checked.contains(broker));
        let checks = registrations.into_values().flat_map(|registered| registered.checks);
        let mut ops: Vec<Op> = checks.collect();
        let first = ops.len();
        ops.extend(writes.iter().map(|write| write.op.clone()));
        match self.execute(store, ops).await {
            Ok(results) => {
                for (write, result) in writes.into_iter().zip(&results[first..]) {
                    let OpResult::Set { version } = result else {
                        panic!("a write answered {result:?}");
                    };
                    *write.pending.outcome = InSyncOutcome::Applied { version: *version };
                }
                Vec::new()
            }
            Err(error) => self.refused(writes, &error),
        }
    }

    /// Settles the changes that caused the refusal of a transaction, and returns the others.
    fn refused<'a>(&self, writes: Vec<Write<'a>>, error: &MetadataError) -> Vec<Pending<'a>> {
        let is_unknown = error.remedy() == Remedy::Fatal || is_unanswered(error);
        let failed = failed_path(error);
        let concerned = |write: &Write<'_>| {
            let Some(path) = failed else { return true };
            match NodePath::of(path) {
                Some(NodePath::KnownBroker(id) | NodePath::Broker(id)) if id != self.broker => {
                    write.checked.contains(&id)
                }
                Some(NodePath::PartitionState(..)) => write.op.path() == path,
                _ => true,
            }
        };
        let (settled, left): (Vec<_>, Vec<_>) = writes.into_iter().partition(concerned);
        for Write { pending, .. } in settled {
            let unwritten = pending.change.unwritten();
            *pending.outcome = if is_unknown { InSyncOutcome::Unknown } else { unwritten };
        }
        left.into_iter().map(|write| write.pending).collect()
    }
}

fn path_of(change: &InSyncStateChange) -> String {
    NodePath::PartitionState(change.topic.clone(), change.partition).to_string()
}

/// Returns true if the state is the one that the change leads to.
fn is_applied(state: &PartitionState, change: &InSyncStateChange) -> bool {
    let leader = match change.successor {
        Some(successor) => Some((successor.broker, successor.incarnation)),
        None => state.leader.map(|leader| (leader, state.leader_incarnation)),
    };
    let epochs = i32::from(change.successor.is_some());
    (state.created, state.version) == (change.created, change.version.wrapping_add(1))
        && state.leader_epoch.0 == change.leader_epoch.0.wrapping_add(epochs)
        && state.leader.map(|leader| (leader, state.leader_incarnation)) == leader
        && state.isr == change.members
        && !(change.ends_caching && state.caching != Caching::Off)
}

fn is_unanswered(error: &MetadataError) -> bool {
    let MetadataError::Store(StoreError::Session(error)) = error else { return false };
    *error == SessionError::OutcomeUnknown
}

/// The node for which a transaction was refused.
fn failed_path(error: &MetadataError) -> Option<&str> {
    match error {
        MetadataError::Store(StoreError::NoNode { path } | StoreError::BadVersion { path, .. }) => {
            Some(path)
        }
        _ => None,
    }
}
