//! Elections that give up records: only on an operator's request, of one partition, and only while
//! no replica can lead that has all acknowledged records.

use crate::metadata::controller::election::elect;
use crate::metadata::controller::evidence::{Evidence, Terms, directory, registered};
use crate::metadata::controller::plan::Basis;
use crate::metadata::controller::reports::{LastSet, unreported};
use crate::metadata::image::{IsrMember, Loss, PartitionState, Topic};
use crate::metadata::in_sync::{DecisionRefusal, UncleanRequest};
use crate::types::{LeaderEpoch, PartitionIndex};

/// The state in which the requested broker leads a partition, alone in sync.
///
/// The members of the old in-sync set leave it and are not eligible: they hold records that are
/// given up, so they must follow the new leader before they may lead again. The election is refused
/// while a member could lead without a loss. It is also refused while the process of a member may
/// live on without its session: as a leader, it may answer clients on proof by the others (rule R6
/// in docs/replication.md). The exception to both is a request that accepts two leaders.
///
/// A leader that is not believed yet may be requested itself, also before the wait that precedes
/// its election is over: then it waits for nobody any more.
///
/// # Errors
/// If the election is not needed, or the broker cannot lead.
pub(in crate::metadata) fn elect_unclean(
    basis: Basis<'_>,
    (topic, index): (&Topic, PartitionIndex),
    request: UncleanRequest,
) -> Result<PartitionState, DecisionRefusal> {
    let UncleanRequest { leader, given_up_from, accepts_two_leaders } = request;
    let partition = topic.partition(index).ok_or(DecisionRefusal::NoState)?;
    let state = partition.state.as_deref().ok_or(DecisionRefusal::NoState)?;
    let is_stopping =
        basis.image.broker(leader).is_some_and(|broker| broker.registration.is_stopping);
    let may_lead = partition.replicas.contains(&leader) && !is_stopping;
    let member = registered(basis.image, leader).filter(|_| may_lead);
    let member = member.ok_or(DecisionRefusal::NotAlive(leader))?;
    // A replica that has returned leads without this once the wait for others is over.
    let terms = Terms { is_overdue: true, ..basis.terms((topic, index), partition) };
    let settled = elect(partition, basis.image, terms);
    let settled = settled.as_ref().unwrap_or(state);
    let leads = state.leading() == Some(member);
    let ends_wait = settled.unvouched.is_some()
        && settled.leading() == Some(member)
        && (leads || state.leader.is_none());
    let without_loss = settled.leader.filter(|_| !ends_wait);
    if let Some(other) = without_loss.filter(|other| *other == leader || !accepts_two_leaders) {
        return Err(DecisionRefusal::Unneeded(other));
    }
    // One that has just returned may have all records: its report tells.
    let evidence = Evidence { image: basis.image, id: terms.id, rules: terms.rules };
    let last_set = LastSet::of(state, terms.rules);
    let mut unreported = unreported(state, &last_set, evidence).into_iter();
    let other = unreported.find(|other| *other != leader);
    if let Some(other) = other.filter(|_| !accepts_two_leaders) {
        return Err(DecisionRefusal::Unneeded(other));
    }
    let may_live = |member: &&IsrMember| !leads && !evidence.has_stopped(state, member);
    if let Some(member) = state.isr.iter().find(may_live).filter(|_| !accepts_two_leaders) {
        return Err(DecisionRefusal::MayLive(member.broker));
    }
    let leader_epoch = LeaderEpoch(state.leader_epoch.0.saturating_add(1));
    let generation = state.loss.map_or(0, |before| before.generation).saturating_add(1);
    Ok(PartitionState {
        leader: Some(leader),
        leader_incarnation: member.incarnation,
        leader_epoch,
        loss: Some(Loss { generation, leader_epoch, from: given_up_from }),
        isr: vec![member],
        directories: vec![directory(basis.image, leader)],
        eligible: Vec::new(),
        unvouched: None,
        is_handed_over: false,
        ..state.clone()
    })
}
