//! The rules about in-sync sets and elections: each is one predicate, and is decided nowhere else.

use crate::metadata::image::{
    Broker, DirectoryId, Incarnation, IsrMember, PartitionState, Registration,
};
use crate::metadata::in_sync::InSyncStateChange;
use crate::types::BrokerId;

/// R3: returns true if a change was computed from this state, by the incarnation that leads in it.
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

/// R15: returns true if a leader may hand over to this replica: an in-sync one that has not
/// registered anew.
pub(in crate::metadata) fn may_succeed(
    state: &PartitionState,
    successor: &IsrMember,
    registered: Option<&Broker>,
) -> bool {
    state.isr.contains(successor)
        && registered.is_some_and(|broker| broker.incarnation == successor.incarnation)
}

/// R5: returns true if a replica may join as this incarnation, which is the one that its leader has
/// seen: it must still be the registered one.
pub(in crate::metadata) fn may_join(seen: Incarnation, registered: Option<&Broker>) -> bool {
    registered.is_some_and(|broker| broker.incarnation == seen)
}

/// R7: returns true if a broker that has registered lacks data that it had with the data directory
/// `recorded`: it has returned with another one.
pub(in crate::metadata) fn has_lost_data(
    recorded: Option<&DirectoryId>,
    registration: &Registration,
) -> bool {
    match (recorded, &registration.directory_id) {
        (Some(recorded), Some(now)) => **recorded != **now,
        // Nothing is known: without a directory of record, a return is no evidence of a loss.
        _ => false,
    }
}

/// R13: returns true if the members that leave an in-sync set stay eligible. The watermark stands
/// still below the minimum, so they hold all records below it until the set has its minimum again.
pub(in crate::metadata) fn keeps_eligible(in_sync: usize, minimum: usize) -> bool {
    in_sync < minimum
}

/// R13: returns true if an eligible replica may be elected, which needs that it has flushed what it
/// holds: not in a topic that acknowledges records before.
pub(in crate::metadata) fn may_elect_eligible(caches: bool) -> bool {
    !caches
}

/// R13: returns true if a partition may change its minimum: while it has a leader. Without one, the
/// eligible replicas may be needed, and a lower minimum would clear them.
pub(in crate::metadata) fn may_change_minimum(leader: Option<BrokerId>) -> bool {
    leader.is_some()
}
