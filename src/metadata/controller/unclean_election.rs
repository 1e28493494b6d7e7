//! Elections that give up records: only on an operator's request, of one partition, and only while
//! no replica can lead that has all acknowledged records.

use crate::metadata::controller::election::{directory, elect, registered};
use crate::metadata::controller::plan::Basis;
use crate::metadata::image::{Partition, PartitionState, Topic};
use crate::metadata::in_sync::{UncleanRefusal, UncleanRequest};
use crate::types::LeaderEpoch;

/// The state in which the requested broker leads a partition, alone in sync.
///
/// The members of the in-sync set so far are out, and eligible no more: they hold records that are
/// given up, so that they must follow the new leader before they may lead again. Whoever is alive
/// among them could lead without a loss; that nobody can proves that their sessions have ended, and
/// with them the leases under which they answered.
///
/// # Errors
/// If the election is not needed, or the broker cannot lead.
pub(in crate::metadata) fn elect_unclean(
    basis: Basis<'_>,
    (topic, partition): (&Topic, &Partition),
    request: UncleanRequest,
) -> Result<PartitionState, UncleanRefusal> {
    let UncleanRequest { leader, accepts_two_leaders } = request;
    let state = partition.state.as_deref().ok_or(UncleanRefusal::NoState)?;
    let is_stopping =
        basis.image.broker(leader).is_some_and(|broker| broker.registration.is_stopping);
    let may_lead = partition.replicas.contains(&leader) && !is_stopping;
    let member = registered(basis.image, leader).filter(|_| may_lead);
    let member = member.ok_or(UncleanRefusal::NotAlive(leader))?;
    let settled = elect(partition, basis.image, basis.terms(topic, partition));
    let without_loss = settled.as_ref().unwrap_or(state).leader;
    if let Some(other) = without_loss.filter(|other| *other == leader || !accepts_two_leaders) {
        return Err(UncleanRefusal::Unneeded(other));
    }
    Ok(PartitionState {
        leader: Some(leader),
        leader_incarnation: member.incarnation,
        leader_epoch: LeaderEpoch(state.leader_epoch.0.saturating_add(1)),
        isr: vec![member],
        directories: vec![directory(basis.image, leader)],
        eligible: Vec::new(),
        ..state.clone()
    })
}
