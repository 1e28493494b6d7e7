//! The state of a partition that follows from another by a change of the in-sync set.

use crate::metadata::image::{
    DirectoryId, EligibleReplica, Incarnation, IsrMember, PartitionState,
};
use crate::metadata::in_sync::ElectionRules;
use crate::types::{BrokerId, LeaderEpoch};

/// The minimum of a state that names none.
const MINIMUM: usize = 1;

/// The state with other members, by these rules, all else being equal. `directory_of` is the
/// registered data directory of a broker, with which new members join.
pub(in crate::metadata) fn with_members(
    state: &PartitionState,
    (members, rules): (Vec<IsrMember>, ElectionRules),
    directory_of: impl Fn(BrokerId) -> Option<DirectoryId>,
) -> PartitionState {
    let directory = |member: &IsrMember| {
        let recorded = state.directory_of(member).cloned();
        recorded.or_else(|| directory_of(member.broker))
    };
    let minimum = state.minimum.unwrap_or(MINIMUM);
    let eligible = if rules.keeps_eligible(members.len(), minimum) {
        eligible(state, &members)
    } else {
        Vec::new()
    };
    PartitionState {
        directories: members.iter().map(directory).collect(),
        // Nobody else may have more records than the leader.
        unvouched: state.unvouched.filter(|_| !eligible.is_empty()),
        eligible,
        isr: members,
        ..state.clone()
    }
}

/// The state in which `successor` leads, in the next leader epoch. Known damage of the successor is
/// forgotten: only its readers can tell whether the damage still stops them.
pub(in crate::metadata) fn handed_over(
    mut state: PartitionState,
    successor: IsrMember,
) -> PartitionState {
    state.damaged.retain(|replica| replica.broker != successor.broker);
    PartitionState {
        leader: Some(successor.broker),
        leader_incarnation: successor.incarnation,
        leader_epoch: LeaderEpoch(state.leader_epoch.0.saturating_add(1)),
        is_handed_over: true,
        ..state
    }
}

/// The state in which a replica on this data directory is known to be damaged.
pub(in crate::metadata) fn with_damage(
    mut state: PartitionState,
    IsrMember { broker, incarnation }: IsrMember,
    directory: DirectoryId,
) -> PartitionState {
    state.damaged.retain(|replica| replica.broker != broker);
    let incarnation = Some(incarnation);
    state.damaged.push(EligibleReplica { broker, directory, incarnation });
    state
}

/// The state in which the damage of a broker on this data directory is repaired.
pub(in crate::metadata) fn without_damage(
    mut state: PartitionState,
    broker: BrokerId,
    directory: &str,
) -> PartitionState {
    state.damaged.retain(|replica| replica.broker != broker || *replica.directory != *directory);
    state
}

/// The eligible replicas and the members of `state` that are not among `members`.
pub(in crate::metadata) fn eligible(
    state: &PartitionState,
    members: &[IsrMember],
) -> Vec<EligibleReplica> {
    let is_member = |broker| members.iter().any(|member| member.broker == broker);
    // A leader that is not believed shows nothing about who was in sync, nor do its followers.
    let are_strangers = state.unvouched.is_some() && state.has_strangers();
    let left = state.isr.iter().zip(&state.directories).filter_map(|(member, directory)| {
        // Without a recorded directory, its later loss could not be detected.
        let directory = directory.clone()?;
        let incarnation =
            Some(if are_strangers { Incarnation::UNKNOWN } else { member.incarnation });
        Some(EligibleReplica { broker: member.broker, directory, incarnation })
    });
    let mut eligible: Vec<EligibleReplica> = Vec::new();
    // A member that leaves now holds at least as much as it did when it left before.
    for replica in left.chain(state.eligible.iter().cloned()) {
        let is_known = eligible.iter().any(|known| known.broker == replica.broker);
        if !is_known && !is_member(replica.broker) {
            eligible.push(replica);
        }
    }
    eligible
}
