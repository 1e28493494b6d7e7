//! The decisions about in-sync sets and elections that are made in the metadata, one predicate
//! each. Nothing else in this layer makes them.
//!
//! The numbers of the rules are those of `docs/replication.md`. R7 and R13 take several predicates.
//! The replicas' part in R3, R5 and R15 is in `replication/protocol/rules.rs`.

use crate::metadata::image::{
    Broker, DirectoryId, Incarnation, IsrMember, PartitionState, Registration,
};
use crate::metadata::in_sync::InSyncStateChange;
use crate::types::{BrokerId, PartitionIndex, TopicId};

/// Rule R3: returns true if a change was computed from this state, by the incarnation that leads in
/// it.
pub(in crate::metadata) fn is_current(
    state: &PartitionState,
    change: &InSyncStateChange,
    author: &IsrMember,
) -> bool {
    state.version == change.version
        && state.leader_epoch == change.leader_epoch
        && state.leader == Some(author.broker)
        && state.leader_incarnation == author.incarnation
}

/// Rule R15: returns true if a leader may hand over to this replica: an in-sync replica that has
/// not registered again.
pub(in crate::metadata) fn may_succeed(
    state: &PartitionState,
    successor: &IsrMember,
    registered: Option<&Broker>,
) -> bool {
    state.isr.contains(successor)
        && registered.is_some_and(|broker| broker.incarnation == successor.incarnation)
}

/// Rule R5: returns true if a replica may join as the incarnation that its leader has seen: that
/// incarnation must still be registered.
pub(in crate::metadata) fn may_join(seen: Incarnation, registered: Option<&Broker>) -> bool {
    registered.is_some_and(|broker| broker.incarnation == seen)
}

/// Rule R7: returns true if a registered broker lacks the data of a partition that it had in the
/// data directory `recorded`: it has returned with another directory, or its disk has lost flushed
/// records.
pub(in crate::metadata) fn has_lost_data(
    recorded: Option<&DirectoryId>,
    registration: &Registration,
    partition: &(TopicId, PartitionIndex),
) -> bool {
    if registration.lost.contains(partition) {
        return true;
    }
    match (recorded, &registration.directory_id) {
        (Some(recorded), Some(now)) => **recorded != **now,
        // Without a recorded directory, nothing proves a loss.
        _ => false,
    }
}

/// Rule R7: returns true if a replica that has lost records, now the incarnation `own` in the data
/// directory `directory`, can no longer be elected for the records that it had: it is neither a
/// member of the in-sync set nor eligible. It may then truncate its log to the records that are
/// left.
pub(in crate::metadata) fn is_struck_out(
    state: &PartitionState,
    own: &IsrMember,
    directory: &str,
) -> bool {
    let is_it = |recorded: Option<&DirectoryId>| recorded.is_none_or(|id| **id == *directory);
    let mut members = state.isr.iter().filter(|member| member.broker == own.broker);
    let is_member = members.any(|member| member != own && is_it(state.directory_of(member)));
    let mut eligible = state.eligible.iter().filter(|replica| replica.broker == own.broker);
    !is_member && !eligible.any(|replica| is_it(Some(&replica.directory)))
}

/// Rule R13: returns true if the members that leave an in-sync set stay eligible, because the set
/// is below its minimum. The high watermark does not move then, so such a member holds all records
/// below the watermark until the set has its minimum again.
pub(in crate::metadata) fn keeps_eligible(in_sync: usize, minimum: usize) -> bool {
    in_sync < minimum
}

/// Rule R13: returns true if an eligible replica may be elected. The replica must have flushed its
/// records, which is not certain in a topic that acknowledges records before they are flushed.
pub(in crate::metadata) fn may_elect_eligible(caches: bool) -> bool {
    !caches
}

/// Rule R13: returns true if the minimum of a partition may change, which requires that the
/// partition has a leader. Without one, its eligible replicas may be needed, and a lower minimum
/// would clear them.
pub(in crate::metadata) fn may_change_minimum(leader: Option<BrokerId>) -> bool {
    leader.is_some()
}
