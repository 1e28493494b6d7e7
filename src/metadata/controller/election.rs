//! Leader election for a partition, given the live brokers.
//!
//! A member of the in-sync set is identified by its incarnation, not only by its id: a broker that
//! came back must rejoin. If no member has stayed alive, the members that returned with their data
//! directory form the set, and one of them leads. Each of them had flushed all records that were
//! acknowledged with `acks=all`; topics with `write.caching` are the exception. If no member has
//! returned either, an eligible replica becomes the only member. This module elects no other
//! broker; `unclean_election.rs` does, if an operator accepts the loss.
//!
//! A member that has lost data is struck out of the set. If no other is left, the set keeps such
//! members, so that operators can see which brokers had the records. A member whose disk has lost
//! records is then recorded with a data directory that does not exist.

use crate::metadata::image::{
    DirectoryId, Image, Incarnation, IsrMember, Partition, PartitionState,
};
use crate::metadata::in_sync::{rules, with_members};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId};

/// The recorded data directory of a member that has lost records: no data directory has this id.
const LOST_RECORDS: &str = "records-lost";

/// The facts about a partition, and the settings of its topic, that decide its elections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// The partition.
    pub(super) id: (TopicId, PartitionIndex),
    /// The number of in-sync replicas that `acks=all` requires.
    pub(super) minimum: usize,
    /// True if records are acknowledged before they are flushed.
    pub(super) caches: bool,
}

/// The state that the partition should get; `None` if its state is right, or nothing can be done.
pub(super) fn elect(partition: &Partition, image: &Image, terms: Terms) -> Option<PartitionState> {
    let Terms { id, minimum, caches } = terms;
    let Some(state) = &partition.state else {
        return first_state(&partition.replicas, image, minimum);
    };
    let evidence = Evidence { image, id };
    let mut next = next_state(state, &partition.replicas, evidence, caches);
    next.eligible
        .retain(|replica| !evidence.has_lost_data(replica.broker, Some(&replica.directory)));
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
        next.is_handed_over = false;
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
        damaged: Vec::new(),
        is_handed_over: false,
        loss: None,
        version: 0,
        controller_epoch: 0,
        extra: serde_json::Map::new(),
    })
}

/// The elected state, still with the old leader epoch, which `elect` raises.
fn next_state(
    state: &PartitionState,
    replicas: &[BrokerId],
    evidence: Evidence<'_>,
    caches: bool,
) -> PartitionState {
    let image = evidence.image;
    let stayed = |member: &&IsrMember| registered(image, member.broker) == Some(**member);
    let leads_on = |member: &&IsrMember| {
        state.leader == Some(member.broker) && state.leader_incarnation == member.incarnation
    };
    let preferred = |members: &[IsrMember]| {
        replicas.iter().find_map(|id| members.iter().find(|m| m.broker == *id).copied())
    };
    let mut isr: Vec<IsrMember> = state.isr.iter().filter(stayed).copied().collect();
    if isr.is_empty() {
        isr = evidence.returned(state);
    }
    if isr.is_empty() && rules::may_elect_eligible(caches) {
        isr.extend(preferred(&evidence.eligible(state)));
    }
    let leader = isr.iter().find(leads_on).copied().or_else(|| preferred(&isr));
    let isr = if leader.is_none() { evidence.last_members(state) } else { isr };
    let mut next = PartitionState {
        leader: leader.map(|leader| leader.broker),
        leader_incarnation: leader.map_or(Incarnation::UNKNOWN, |leader| leader.incarnation),
        ..with_members(state, isr, |broker| directory(image, broker))
    };
    // What a single replica has lost, nobody else has: what is left can be read.
    if leader.is_none() && replicas.len() > 1 {
        for (member, directory) in next.isr.iter().zip(&mut next.directories) {
            if evidence.has_lost_records(member.broker) {
                *directory = Some(LOST_RECORDS.into());
            }
        }
    }
    next
}

/// The evidence of the live brokers about a partition.
#[derive(Clone, Copy)]
struct Evidence<'a> {
    image: &'a Image,
    id: (TopicId, PartitionIndex),
}

impl Evidence<'_> {
    /// The in-sync replicas whose brokers have registered again, with the data that they had.
    fn returned(self, state: &PartitionState) -> Vec<IsrMember> {
        let members = state.isr.iter().filter(|member| self.has_data(state, member));
        members.filter_map(|member| registered(self.image, member.broker)).collect()
    }

    /// The eligible replicas that are alive.
    fn eligible(self, state: &PartitionState) -> Vec<IsrMember> {
        let kept = state
            .eligible
            .iter()
            .filter(|replica| !self.has_lost_data(replica.broker, Some(&replica.directory)));
        kept.filter_map(|replica| registered(self.image, replica.broker)).collect()
    }

    /// The in-sync set to keep while there is no leader. Members that have lost their data are
    /// dropped, unless none would be left: then the set stays as it is.
    fn last_members(self, state: &PartitionState) -> Vec<IsrMember> {
        let members = state.isr.iter().filter(|member| self.has_data(state, member));
        let left: Vec<IsrMember> = members.copied().collect();
        if left.is_empty() { state.isr.clone() } else { left }
    }

    /// Returns true unless a member has lost the data that it had when it joined.
    fn has_data(self, state: &PartitionState, member: &IsrMember) -> bool {
        !self.has_lost_data(member.broker, state.directory_of(member))
    }

    fn has_lost_data(self, broker: BrokerId, recorded: Option<&DirectoryId>) -> bool {
        let registered = self.image.broker(broker);
        registered
            .is_some_and(|broker| rules::has_lost_data(recorded, &broker.registration, &self.id))
    }

    /// Returns true if the disk of a live broker has lost records of the partition.
    fn has_lost_records(self, broker: BrokerId) -> bool {
        let registered = self.image.broker(broker);
        registered.is_some_and(|broker| broker.registration.lost.contains(&self.id))
    }
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
