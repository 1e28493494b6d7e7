//! Elections after the end of all in-sync replicas (rule R21 in docs/replication.md).
//!
//! The state without a leader, in a new leader epoch, asks the replicas for reports. A replica that
//! has read it neither appends nor truncates, so its report holds until the next election. A report
//! of another epoch says nothing: a leader whose session had ended may have gone on with followers
//! that have reported since.

use crate::metadata::controller::evidence::{Evidence, Terms, registered};
use crate::metadata::image::{DirectoryId, IsrMember, LogExtent, LogReport, PartitionState};
use crate::metadata::in_sync::ElectionRules;
use crate::types::{BrokerId, Offset};

/// The replicas that may have all committed records, with their data directories: the in-sync ones,
/// and the eligible ones where these may be elected.
pub(super) struct LastSet<'a> {
    replicas: Vec<(BrokerId, Option<&'a DirectoryId>)>,
    /// True if it is unknown whether some of them were in sync: all have to report then.
    has_strangers: bool,
}

impl<'a> LastSet<'a> {
    pub(super) fn of(state: &'a PartitionState, rules: ElectionRules) -> Self {
        let with_eligible = rules.asks_eligible(state.caching) || state.unvouched.is_some();
        let members = state.isr.iter().zip(&state.directories);
        let members = members.map(|(member, directory)| (member.broker, directory.as_ref()));
        let is_member = |id| state.isr.iter().any(|member| member.broker == id);
        let eligible = state.eligible.iter().filter(|_| with_eligible);
        let eligible = eligible.filter(|replica| !is_member(replica.broker));
        let eligible = eligible.map(|replica| (replica.broker, Some(&replica.directory)));
        Self { replicas: members.chain(eligible).collect(), has_strangers: state.has_strangers() }
    }

    pub(super) fn len(&self) -> usize {
        self.replicas.len()
    }
}

/// The replicas of the last set that have returned with their data, and have not reported yet.
pub(super) fn unreported(
    state: &PartitionState,
    last_set: &LastSet<'_>,
    evidence: Evidence<'_>,
) -> Vec<BrokerId> {
    let replicas = last_set.replicas.iter();
    let returned = replicas
        .filter(|(broker, _)| registered(evidence.image, *broker).is_some())
        .filter(|(broker, directory)| !evidence.has_lost_data(*broker, *directory));
    let has_reported = |broker| report_of(broker, state, evidence).is_some();
    returned.map(|(broker, _)| *broker).filter(|broker| !has_reported(*broker)).collect()
}

/// The replicas that are in sync after an election.
#[derive(Default)]
pub(super) struct Elected {
    /// The replicas; none if nobody can be elected.
    pub(super) isr: Vec<IsrMember>,
    /// The extent of their logs, if they are not believed yet.
    pub(super) unvouched: Option<LogExtent>,
}

/// The election by the reports of the partition's current epoch.
///
/// Those that reported the greatest log are in sync. The offset that any replica knows to be
/// committed excludes all logs that end below, whoever reports it: a replica that has lost records
/// may still know how many it had. Once the wait is over, fewer reports than needed are enough, but
/// then the leader is not believed yet.
pub(super) fn elected_by_reports(
    state: &PartitionState,
    last_set: &LastSet<'_>,
    evidence: Evidence<'_>,
    terms: Terms,
) -> Elected {
    if state.leader.is_some() {
        return Elected::default();
    }
    let sound = sound_reports(state, last_set, evidence);
    let is_enough = sound.len() >= needed_reports(state, last_set, terms);
    // The wait for the others was over when the last leader was elected.
    let was_overdue = state.unvouched.is_some() && unreported(state, last_set, evidence).is_empty();
    if evidence.may_act(state) || !is_enough && !terms.is_overdue && !was_overdue {
        return Elected::default();
    }
    let floor = floor(state, evidence);
    let candidates =
        sound.iter().copied().filter(|(_, report)| terms.rules.reaches(report.extent(), floor));
    let greatest = candidates.clone().map(|(_, report)| report.extent()).max();
    let elected = candidates
        .filter(|(_, report)| Some(report.extent()) == greatest || terms.rules.may_elect_lesser());
    let is_believed =
        is_enough || !terms.rules.awaits_returns() || !terms.rules.asks_eligible(state.caching);
    Elected {
        isr: elected.filter_map(|(broker, _)| registered(evidence.image, broker)).collect(),
        unvouched: greatest.filter(|_| !is_believed),
    }
}

/// The reports that count: those of replicas of the last set, with the data that they had.
pub(super) fn sound_reports<'a>(
    state: &PartitionState,
    last_set: &LastSet<'_>,
    evidence: Evidence<'a>,
) -> Vec<(BrokerId, &'a LogReport)> {
    let replicas = last_set.replicas.iter();
    let sound = replicas.filter(|(broker, directory)| !evidence.has_lost_data(*broker, *directory));
    let reported = sound.map(|(broker, _)| (*broker, report_of(*broker, state, evidence)));
    reported.filter_map(|(broker, report)| Some((broker, report?))).collect()
}

/// The number of reports by which a leader is believed.
pub(super) fn needed_reports(
    state: &PartitionState,
    last_set: &LastSet<'_>,
    terms: Terms,
) -> usize {
    if last_set.has_strangers {
        return last_set.len();
    }
    let minimum = state.minimum.unwrap_or(terms.minimum);
    terms.rules.reports_needed(minimum, last_set.len())
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
pub(super) fn floor(state: &PartitionState, evidence: Evidence<'_>) -> Offset {
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
