//! Who leads a partition, given who is alive.
//!
//! A member of the in-sync set counts by its life, not by its number: a broker that came back has
//! to be let in again. Only when every member is gone or came back is one of those who came back
//! taken, with the others of them: each had flushed all that was acknowledged. Nobody from outside
//! the in-sync set is ever elected.

use crate::metadata::image::{Image, Incarnation, IsrMember, Partition, PartitionState};
use crate::types::{BrokerId, LeaderEpoch};

/// The state that the partition should have; `None` when it is as it should be, or nothing can be
/// done about it.
pub(super) fn elect(partition: &Partition, image: &Image) -> Option<PartitionState> {
    let life = |broker: BrokerId| image.broker(broker).map(|broker| broker.incarnation);
    match &partition.state {
        None => first_state(&partition.replicas, life),
        Some(state) => next_state(state, &partition.replicas, life),
    }
}

fn first_state(
    replicas: &[BrokerId],
    life: impl Fn(BrokerId) -> Option<Incarnation>,
) -> Option<PartitionState> {
    let isr = live(replicas.iter().copied(), &life);
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
    life: impl Fn(BrokerId) -> Option<Incarnation>,
) -> Option<PartitionState> {
    let stayed = |member: &&IsrMember| life(member.broker) == Some(member.incarnation);
    let leads_on = |member: &&IsrMember| {
        state.leader == Some(member.broker) && state.leader_incarnation == member.incarnation
    };
    if state.isr.iter().all(|member| stayed(&member)) && state.isr.iter().any(|m| leads_on(&m)) {
        return None;
    }
    let mut isr: Vec<IsrMember> = state.isr.iter().filter(stayed).copied().collect();
    if isr.is_empty() {
        isr = live(state.isr.iter().map(|member| member.broker), &life);
    }
    let in_order = || replicas.iter().find_map(|id| isr.iter().find(|m| m.broker == *id));
    let leader = isr.iter().find(leads_on).or_else(in_order).copied();
    // The last members are remembered while nobody can lead: only they may lead again.
    let isr = if leader.is_none() { state.isr.clone() } else { isr };
    let next = PartitionState {
        leader: leader.map(|leader| leader.broker),
        leader_incarnation: leader.map_or(Incarnation::UNKNOWN, |leader| leader.incarnation),
        leader_epoch: LeaderEpoch(state.leader_epoch.0.saturating_add(1)),
        isr,
        version: state.version,
        extra: state.extra.clone(),
    };
    let as_it_was = next.leader == state.leader
        && next.leader_incarnation == state.leader_incarnation
        && next.isr == state.isr;
    (!as_it_was).then_some(next)
}

/// Those of the brokers that are alive, in their present life.
fn live(
    brokers: impl Iterator<Item = BrokerId>,
    life: impl Fn(BrokerId) -> Option<Incarnation>,
) -> Vec<IsrMember> {
    let member = |broker| life(broker).map(|incarnation| IsrMember { broker, incarnation });
    brokers.filter_map(member).collect()
}
