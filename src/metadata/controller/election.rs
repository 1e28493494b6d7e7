//! Leader election for a partition, given the live brokers.
//!
//! A member of the in-sync set is identified by its incarnation, not only by its id: a broker that
//! came back must rejoin. If no member has stayed alive, the members that returned with their data
//! directory form the set, and one of them leads: each had flushed all records acknowledged with
//! `acks=all`, except in topics with `write.caching`. If there is none either, an eligible replica
//! becomes the only member. This module elects no other broker; `unclean_election.rs` does, if an
//! operator accepts the loss.

use crate::metadata::image::{
    DirectoryId, Image, Incarnation, IsrMember, Partition, PartitionState,
};
use crate::metadata::in_sync::{rules, with_members};
use crate::types::{BrokerId, LeaderEpoch};

/// The settings of a topic that elections go by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// The number of in-sync replicas that `acks=all` requires.
    pub(super) minimum: usize,
    /// True if records are acknowledged before they are flushed.
    pub(super) caches: bool,
}

/// The state that the partition should get; `None` if its state is right, or nothing can be done.
pub(super) fn elect(
    partition: &Partition,
    image: &Image,
    Terms { minimum, caches }: Terms,
) -> Option<PartitionState> {
    let Some(state) = &partition.state else {
        return first_state(&partition.replicas, image, minimum);
    };
    let mut next = next_state(state, &partition.replicas, image, caches);
    next.eligible.retain(|replica| !has_lost_data(image, replica.broker, Some(&replica.directory)));
    if rules::may_change_minimum(next.leader) && next.minimum != Some(minimum) {
        next.minimum = Some(minimum);
        if !rules::keeps_eligible(next.isr.len(), minimum) {
            next.eligible.clear();
        }
    }
    let is_elected = next.leader != state.leader
        || next.leader_incarnation != state.leader_incarnation
        || next.isr != state.isr;
    if is_elected {
        next.leader_epoch = LeaderEpoch(state.leader_epoch.0.saturating_add(1));
    }
    (next != **state).then_some(next)
}

fn first_state(replicas: &[BrokerId], image: &Image, minimum: usize) -> Option<PartitionState> {
    let live = replicas.iter().filter_map(|broker| registered(image, *broker));
    let isr: Vec<IsrMember> = live.collect();
    let first = *isr.first()?;
    Some(PartitionState {
        leader: Some(first.broker),
        leader_incarnation: first.incarnation,
        leader_epoch: LeaderEpoch(0),
        directories: isr.iter().map(|member| directory(image, member.broker)).collect(),
        isr,
        eligible: Vec::new(),
        minimum: Some(minimum),
        version: 0,
        controller_epoch: 0,
        extra: serde_json::Map::new(),
    })
}

/// The elected state, still with the old leader epoch, which `elect` raises.
fn next_state(
    state: &PartitionState,
    replicas: &[BrokerId],
    image: &Image,
    caches: bool,
) -> PartitionState {
    let stayed = |member: &&IsrMember| registered(image, member.broker) == Some(**member);
    let leads_on = |member: &&IsrMember| {
        state.leader == Some(member.broker) && state.leader_incarnation == member.incarnation
    };
    let preferred = |members: &[IsrMember]| {
        replicas.iter().find_map(|id| members.iter().find(|m| m.broker == *id).copied())
    };
    let mut isr: Vec<IsrMember> = state.isr.iter().filter(stayed).copied().collect();
    if isr.is_empty() {
        isr = returned(state, image);
    }
    if isr.is_empty() && rules::may_elect_eligible(caches) {
        isr.extend(preferred(&eligible(state, image)));
    }
    let leader = isr.iter().find(leads_on).copied().or_else(|| preferred(&isr));
    let isr = if leader.is_none() { last_members(state, image) } else { isr };
    PartitionState {
        leader: leader.map(|leader| leader.broker),
        leader_incarnation: leader.map_or(Incarnation::UNKNOWN, |leader| leader.incarnation),
        ..with_members(state, isr, |broker| directory(image, broker))
    }
}

/// The in-sync replicas whose brokers have registered again, with the data that they had.
fn returned(state: &PartitionState, image: &Image) -> Vec<IsrMember> {
    let kept =
        |member: &&IsrMember| !has_lost_data(image, member.broker, state.directory_of(member));
    let members = state.isr.iter().filter(kept);
    members.filter_map(|member| registered(image, member.broker)).collect()
}

/// The eligible replicas that are alive.
fn eligible(state: &PartitionState, image: &Image) -> Vec<IsrMember> {
    let kept = state
        .eligible
        .iter()
        .filter(|replica| !has_lost_data(image, replica.broker, Some(&replica.directory)));
    kept.filter_map(|replica| registered(image, replica.broker)).collect()
}

/// The in-sync set to keep while there is no leader. Members that have lost their data are dropped,
/// unless none would be left: then the set stays as it is.
fn last_members(state: &PartitionState, image: &Image) -> Vec<IsrMember> {
    let kept =
        |member: &&IsrMember| !has_lost_data(image, member.broker, state.directory_of(member));
    let left: Vec<IsrMember> = state.isr.iter().filter(kept).copied().collect();
    if left.is_empty() { state.isr.clone() } else { left }
}

/// The broker as a member of an in-sync set, if it is alive.
pub(super) fn registered(image: &Image, broker: BrokerId) -> Option<IsrMember> {
    let incarnation = image.broker(broker)?.incarnation;
    Some(IsrMember { broker, incarnation })
}

/// The data directory of a live broker.
pub(super) fn directory(image: &Image, broker: BrokerId) -> Option<DirectoryId> {
    image.broker(broker)?.registration.directory_id.as_deref().map(DirectoryId::from)
}

fn has_lost_data(image: &Image, broker: BrokerId, recorded: Option<&DirectoryId>) -> bool {
    let registered = image.broker(broker);
    registered.is_some_and(|broker| rules::has_lost_data(recorded, &broker.registration))
}
