//! Leader election for a partition, given the live brokers.
//!
//! A member of the in-sync set is identified by its incarnation, not only by its id: a broker that
//! came back must rejoin. Only if no member has stayed alive are returned members considered: one
//! becomes leader, together with the other returned members, since each had flushed all
//! acknowledged records. A broker outside the in-sync set is never elected.

use crate::metadata::image::{Image, Incarnation, IsrMember, Partition, PartitionState};
use crate::types::{BrokerId, LeaderEpoch};

/// The state that the partition should get; `None` if its state is right, or nothing can be done.
pub(super) fn elect(partition: &Partition, image: &Image) -> Option<PartitionState> {
    let incarnation_of = |broker: BrokerId| image.broker(broker).map(|broker| broker.incarnation);
    match &partition.state {
        None => first_state(&partition.replicas, incarnation_of),
        Some(state) => next_state(state, &partition.replicas, incarnation_of),
    }
}

fn first_state(
    replicas: &[BrokerId],
    incarnation_of: impl Fn(BrokerId) -> Option<Incarnation>,
) -> Option<PartitionState> {
    let isr = live(replicas.iter().copied(), &incarnation_of);
    let first = *isr.first()?;
    Some(PartitionState {
        leader: Some(first.broker),
        leader_incarnation: first.incarnation,
        leader_epoch: LeaderEpoch(0),
        isr,
        version: 0,
        extra: serde_json::Map::new(),
    })
}

fn next_state(
    state: &PartitionState,
    replicas: &[BrokerId],
    incarnation_of: impl Fn(BrokerId) -> Option<Incarnation>,
) -> Option<PartitionState> {
    let stayed = |member: &&IsrMember| incarnation_of(member.broker) == Some(member.incarnation);
    let leads_on = |member: &&IsrMember| {
        state.leader == Some(member.broker) && state.leader_incarnation == member.incarnation
    };
    if state.isr.iter().all(|member| stayed(&member)) && state.isr.iter().any(|m| leads_on(&m)) {
        return None;
    }
    let mut isr: Vec<IsrMember> = state.isr.iter().filter(stayed).copied().collect();
    if isr.is_empty() {
        isr = live(state.isr.iter().map(|member| member.broker), &incarnation_of);
    }
    let in_order = || replicas.iter().find_map(|id| isr.iter().find(|m| m.broker == *id));
    let leader = isr.iter().find(leads_on).or_else(in_order).copied();
    // Keep the last members while there is no leader: only they may lead again.
    let isr = if leader.is_none() { state.isr.clone() } else { isr };
    let next = PartitionState {
        leader: leader.map(|leader| leader.broker),
        leader_incarnation: leader.map_or(Incarnation::UNKNOWN, |leader| leader.incarnation),
        leader_epoch: LeaderEpoch(state.leader_epoch.0.saturating_add(1)),
        isr,
        version: state.version,
        extra: state.extra.clone(),
    };
    let is_unchanged = next.leader == state.leader
        && next.leader_incarnation == state.leader_incarnation
        && next.isr == state.isr;
    (!is_unchanged).then_some(next)
}

/// The live brokers among `brokers`, with their current incarnations.
fn live(
    brokers: impl Iterator<Item = BrokerId>,
    incarnation_of: impl Fn(BrokerId) -> Option<Incarnation>,
) -> Vec<IsrMember> {
    let member =
        |broker| incarnation_of(broker).map(|incarnation| IsrMember { broker, incarnation });
    brokers.filter_map(member).collect()
}
