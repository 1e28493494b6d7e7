//! Leaders that were elected after the wait for other replicas, and are not believed yet (rule R21e
//! in docs/replication.md).
//!
//! Such a leader appends nothing. An eligible replica that returns does not follow it, but reports
//! its log, and leads if it has more. Nobody counts as having stayed meanwhile: those in sync had
//! joined a leader that may lack records.

use crate::metadata::controller::evidence::{Evidence, Terms, registered};
use crate::metadata::controller::reports::{
    Elected, LastSet, floor, needed_reports, sound_reports,
};
use crate::metadata::image::{LogExtent, PartitionState};

/// The extent of the log of a leader that is not believed yet, and lives.
pub(super) fn living(state: &PartitionState, evidence: Evidence<'_>) -> Option<LogExtent> {
    let lives = || state.leading().is_some_and(|leader| evidence.stays(state, &leader));
    state.unvouched.filter(|_| lives())
}

/// The in-sync set under a leader with this log, given the reports of replicas that have returned.
/// There is none if one of them has more, or the leader lacks records known to be committed: the
/// leader has to stop, and report too, before another is elected.
pub(super) fn after_returns(
    state: &PartitionState,
    leader: LogExtent,
    evidence: Evidence<'_>,
    terms: Terms,
) -> Elected {
    let last_set = LastSet::of(state, terms.rules);
    let is_member = |broker| state.isr.iter().any(|member| member.broker == broker);
    let mut returned = sound_reports(state, &last_set, evidence);
    returned.retain(|(broker, _)| !is_member(*broker));
    let floor = floor(state, evidence);
    let mut extents = returned.iter().map(|(_, report)| report.extent());
    if !terms.rules.reaches(leader, floor) || extents.any(|extent| extent > leader) {
        return Elected::default();
    }
    // Each in-sync replica has reported the same log as the leader.
    let reports = state.isr.len() + returned.len();
    if reports < needed_reports(state, &last_set, terms) {
        return Elected { isr: state.isr.clone(), unvouched: Some(leader) };
    }
    let equal = returned.iter().filter(|(_, report)| report.extent() == leader);
    let equal = equal.filter_map(|(broker, _)| registered(evidence.image, *broker));
    Elected { isr: state.isr.iter().copied().chain(equal).collect(), unvouched: None }
}

/// Strikes out the eligible replicas that live as they were recorded: under a leader that was not
/// believed, nobody counts as having stayed.
pub(super) fn strike_out_stayed(state: &mut PartitionState, evidence: Evidence<'_>) {
    state.eligible.retain(|replica| {
        let now = registered(evidence.image, replica.broker).map(|member| member.incarnation);
        now.is_none() || now != replica.incarnation
    });
}
