//! Elections after the end of all in-sync replicas (rule R21 in docs/replication.md).
//!
//! The state without a leader, in a new leader epoch, asks the replicas for reports. A replica that
//! has read it neither appends nor truncates, so its report holds until the next election. A report
//! of another epoch says nothing: a leader whose session had ended may have gone on with followers
//! that have reported since.

use crate::metadata::controller::evidence::{Evidence, Terms, registered};
use crate::metadata::image::{DirectoryId, IsrMember, LogReport, PartitionState};
use crate::types::{BrokerId, Offset};

/// The replicas that may have all committed records, with their data directories: the in-sync ones,
/// and the eligible ones where these may be elected.
pub(super) struct LastSet<'a> {
    replicas: Vec<(BrokerId, Option<&'a DirectoryId>)>,
}

impl<'a> LastSet<'a> {
    pub(super) fn of(state: &'a PartitionState, with_eligible: bool) -> Self {
        let members = state.isr.iter().zip(&state.directories);
        let members = members.map(|(member, directory)| (member.broker, directory.as_ref()));
        let is_member = |id| state.isr.iter().any(|member| member.broker == id);
        let eligible = state.eligible.iter().filter(|_| with_eligible);
        let eligible = eligible.filter(|replica| !is_member(replica.broker));
        let eligible = eligible.map(|replica| (replica.broker, Some(&replica.directory)));
        Self { replicas: members.chain(eligible).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.replicas.len()
    }
}

/// A replica of the last set that has returned with its data, and has not reported yet.
pub(super) fn unreported(
    state: &PartitionState,
    last_set: &LastSet<'_>,
    evidence: Evidence<'_>,
) -> Option<BrokerId> {
    let replicas = last_set.replicas.iter();
    let mut returned = replicas
        .filter(|(broker, _)| registered(evidence.image, *broker).is_some())
        .filter(|(broker, directory)| !evidence.has_lost_data(*broker, *directory));
    let has_reported = |broker| report_of(broker, state, evidence).is_some();
    returned.find(|(broker, _)| !has_reported(*broker)).map(|(broker, _)| *broker)
}

/// The in-sync set after an election by the reports of the partition's current epoch; empty if they
/// do not allow one.
///
/// Those that reported the greatest log are in sync. A report counts if its author is in the last
/// set, with the data that it had. The offset that any replica knows to be committed excludes all
/// logs that end below, whoever reports it: a replica that has lost records may still know how many
/// it had.
pub(super) fn elected_by_reports(
    state: &PartitionState,
    last_set: &LastSet<'_>,
    evidence: Evidence<'_>,
    terms: Terms,
) -> Vec<IsrMember> {
    if state.leader.is_some() {
        return Vec::new();
    }
    let report = |broker| report_of(broker, state, evidence);
    let sound: Vec<(BrokerId, &LogReport)> = last_set
        .replicas
        .iter()
        .filter(|(broker, directory)| !evidence.has_lost_data(*broker, *directory))
        .filter_map(|(broker, _)| Some((*broker, report(*broker)?)))
        .collect();
    let minimum = state.minimum.unwrap_or(terms.minimum);
    let needed = terms.rules.reports_needed(minimum, last_set.len());
    if sound.len() < needed && !terms.is_overdue {
        return Vec::new();
    }
    let floor = floor(state, evidence);
    let candidates = sound.iter().filter(|(_, report)| terms.rules.reaches(report, floor));
    let greatest = candidates.clone().map(|(_, report)| extent(report)).max();
    let elected = candidates
        .filter(|(_, report)| Some(extent(report)) == greatest || terms.rules.may_elect_lesser());
    elected.filter_map(|(broker, _)| registered(evidence.image, *broker)).collect()
}

/// Returns true if a broker has reported a log that ends below an offset known to be committed.
pub(super) fn is_below_floor(
    broker: BrokerId,
    state: &PartitionState,
    evidence: Evidence<'_>,
) -> bool {
    report_of(broker, state, evidence).is_some_and(|report| report.end < floor(state, evidence))
}

/// The greatest offset below which, as a broker reports, all records were committed.
fn floor(state: &PartitionState, evidence: Evidence<'_>) -> Offset {
    let brokers = evidence.image.brokers();
    let reports = brokers.filter_map(|broker| report_of(broker.id, state, evidence));
    reports.map(|report| report.floor).max().unwrap_or(Offset::ZERO)
}

/// The report of a live broker in the epoch of a state.
fn report_of<'a>(
    broker: BrokerId,
    state: &PartitionState,
    evidence: Evidence<'a>,
) -> Option<&'a LogReport> {
    let reports = &evidence.image.broker(broker)?.registration.reports;
    reports.get(&evidence.id).filter(|report| report.epoch == state.leader_epoch)
}

/// The order of logs: of two, the one with the later last epoch has what the other has committed.
fn extent(report: &LogReport) -> (i32, Offset) {
    (report.last_epoch.0, report.end)
}
