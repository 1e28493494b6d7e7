//! The rules of replication: one predicate each, and the only place where it is decided.

use super::log::Log;
use super::state::{Floor, Leadership, Progress, Registration, Replica, State, StateNode, Write};
use crate::brokers::{BrokerId, BrokerSet};
use crate::rule::{Rule, Rules};

/// R1: the end that a replica reports, and that a leader counts of its own log.
pub(super) fn counted_end(rules: Rules, log: &Log) -> u8 {
    if rules.has(Rule::FlushedCounts) { log.flushed } else { log.end }
}

/// R14b, R14e: returns whether a leader counts records before they are flushed.
pub(super) fn counts_unflushed(rules: Rules, leader: &Replica) -> bool {
    let has_flag = leader.caches || !rules.has(Rule::UnflushedWithFlag);
    let goes_on = !leader.leading.clearing || !rules.has(Rule::UnflushedUntilClear);
    leader.leading.setting && has_flag && goes_on
}

/// R1, R14: the end that a leader counts of its own log.
pub(super) fn own_end(rules: Rules, leader: &Replica) -> u8 {
    if counts_unflushed(rules, leader) { leader.log.end } else { counted_end(rules, &leader.log) }
}

/// R1, R14: the end that a leader counts of what a follower reported.
pub(super) fn reported_end(rules: Rules, leader: &Replica, progress: Progress) -> u8 {
    if counts_unflushed(rules, leader) { progress.end } else { progress.reported }
}

/// R1, R14: the end up to which a follower takes its leader's watermark.
pub(super) fn held_end(rules: Rules, follower: &Replica) -> u8 {
    if follower.caches { follower.log.end } else { counted_end(rules, &follower.log) }
}

/// R14a, R14d, R14f: returns whether a leader may ask to clear the flag of caching.
pub(super) fn may_clear(rules: Rules, node: &StateNode, id: BrokerId, leader: &Replica) -> bool {
    let leading = &leader.leading;
    let (watermark, members) = (leader.watermark, leading.in_sync | leading.pending);
    let flushed = leader.log.flushed >= watermark
        && members.without(id).iter().all(|id| leading.progress[id].reported >= watermark);
    // An unvouched leader has eligible replicas beside it.
    (node.eligible.is_empty() || !rules.has(Rule::ClearWithoutEligible))
        && (flushed || !rules.has(Rule::ClearAfterFlush))
        && (watermark >= leading.epoch_start || !rules.has(Rule::ClearFromEpochStart))
}

/// R14k: returns whether a leader may answer clients: not once one of a later epoch has cleared the
/// flag, for no two answer at once (I31, in the part of leadership).
pub(super) fn may_answer(rules: Rules, node: &StateNode, leader: &Replica) -> bool {
    leader.epoch >= node.cleared || !rules.has(Rule::ClearAfterWait)
}

/// R14j: returns whether an eligible replica that has stayed may be elected without a report.
pub(super) fn eligible_lead_at_once(rules: Rules, node: &StateNode) -> bool {
    !node.caches || !rules.has(Rule::EligibleOnlyByReport)
}

/// R14i: returns whether eligible replicas are compared with the in-sync ones, by their reports.
pub(super) fn eligible_report(rules: Rules, node: &StateNode) -> bool {
    !node.caches || rules.has(Rule::EligibleReport)
}

/// R14c: the watermark that a replica has recorded, as far as it counts.
pub(super) fn floor(rules: Rules, state: &State, id: BrokerId) -> u8 {
    let replica = &state.replicas[id];
    counted_floor(rules, state, replica, (replica.caches, replica.cleared))
}

/// R14c, R14h: the watermark that a replica has recorded, as far as it counts with what is known of
/// the flag: whether it is set, and the epoch in which it was cleared.
pub(super) fn counted_floor(
    rules: Rules,
    state: &State,
    replica: &Replica,
    (flag, cleared): (bool, u8),
) -> u8 {
    let caches = if rules.has(Rule::FlagVoidsFloors) { flag } else { state.setting };
    let earlier = replica.log.last_epoch() < cleared && rules.has(Rule::FloorsFromClearing);
    if caches || earlier { 0 } else { replica.floor.end }
}

/// R1b: lowers the claim of a flush under way to the end to which the log is truncated.
pub(super) fn truncate_flush(rules: Rules, log: &mut Log, end: u8) {
    if let Some(flush) = &mut log.flush
        && rules.has(Rule::FlushEndsAtTruncation)
    {
        flush.claimed = flush.claimed.min(end);
    }
}

/// R2a: the replicas whose progress holds the watermark back.
pub(super) fn waited_for(rules: Rules, leading: &Leadership) -> BrokerSet {
    if rules.has(Rule::MaximalSet) { leading.in_sync | leading.pending } else { leading.in_sync }
}

/// R2b: returns whether the in-sync set is large enough for the watermark to move.
pub(super) fn has_minimum(rules: Rules, leading: &Leadership) -> bool {
    leading.in_sync.len() >= leading.minimum || !rules.has(Rule::MinimumHolds)
}

/// R2c: the members that may be in sync while the outcome of a write is unknown.
pub(super) fn pending_while_unknown(rules: Rules, pending: BrokerSet) -> BrokerSet {
    if rules.has(Rule::UnknownStaysMaximal) { pending } else { BrokerSet::EMPTY }
}

/// R3: returns whether the store carries a write out, by its version and its session.
pub(super) fn is_carried_out(rules: Rules, write: &Write, author: Registration) -> bool {
    let current = write.current || !rules.has(Rule::CompareAndSet);
    let alive = author.incarnation == write.session || !rules.has(Rule::SessionOwnsWrite);
    current && alive
}

/// R4: returns whether a broker may lead the epoch that it was elected for.
pub(super) fn may_lead(rules: Rules, node: &StateNode, replica: &Replica) -> bool {
    node.incarnation == replica.incarnation || !rules.has(Rule::OwnIncarnation)
}

/// R4: returns whether the partition needs a new leader, and with it a new epoch.
///
/// So it does if its leader has registered as one that has lost records (R25).
pub(super) fn leader_is_gone(rules: Rules, state: &State, leader: BrokerId) -> bool {
    let Registration { incarnation: registered, lost, .. } = state.registered[leader];
    registered == 0
        || lost
        || registered != state.node.incarnation && rules.has(Rule::OwnIncarnation)
}

/// R5: returns whether the registered broker is the one whose fetch made it join.
pub(super) fn is_same_incarnation(rules: Rules, seen: u8, registered: Registration) -> bool {
    seen == registered.incarnation || !rules.has(Rule::JoinByIncarnation)
}

/// R7: returns whether a registered replica has the disk that it had as a member.
pub(super) fn directory_is_known(
    rules: Rules,
    node: &StateNode,
    state: &State,
    id: BrokerId,
) -> bool {
    state.registered[id].directory == node.directory[id] || !rules.has(Rule::DirectoryKnown)
}

/// R8a: the end to which a follower truncates its log because the leader's differs after it.
///
/// The leader answers for the epoch of the follower's last record. A follower that lacks the epoch
/// in the answer truncates to the end of the greatest lower epoch that it has, and asks again.
pub(super) fn divergence(rules: Rules, leader: &Log, follower: &Log) -> Option<u8> {
    if !rules.has(Rule::TruncateByEpoch) {
        return (follower.end > leader.end).then_some(leader.end);
    }
    let (epoch, end) = leader.end_of_epoch(follower.last_epoch());
    let diverges = epoch != follower.last_epoch() || end < follower.end;
    diverges.then(|| end.min(follower.end_of_epoch(epoch).1))
}

/// R8a: the end to which a follower truncates its log in a new epoch before it asks the leader.
pub(super) fn truncation_in_new_epoch(rules: Rules, replica: &Replica) -> Option<u8> {
    (!rules.has(Rule::TruncateByEpoch)).then_some(replica.watermark)
}

/// R8b: returns whether a leader answers a follower's fetch.
pub(super) fn is_answered(rules: Rules, leader: &Replica, follower: &Replica) -> bool {
    leader.epoch == follower.epoch || !rules.has(Rule::FetchIsFenced)
}

/// R9: returns whether a follower has flushed enough to join the in-sync set.
pub(super) fn may_join(rules: Rules, leader: &Replica, progress: Progress) -> bool {
    let start = leader.leading.epoch_start;
    let reported = reported_end(rules, leader, progress);
    let reached = |end, rule| reported >= end || !rules.has(rule);
    progress.incarnation != 0
        && reached(leader.watermark, Rule::JoinAtWatermark)
        && reached(start, Rule::JoinAtEpochStart)
        && has_promised(rules, leader, progress)
}

/// R14g: returns whether a follower has flushed all records of which the leader knows, or cannot
/// rule out, that they had to be flushed before they were shown.
fn has_promised(rules: Rules, leader: &Replica, progress: Progress) -> bool {
    let covered = progress.reported >= leader.leading.promised;
    covered || !counts_unflushed(rules, leader) || !rules.has(Rule::JoinWithPromised)
}

/// R10: returns whether a broker outside the in-sync and eligible replicas may be elected.
pub(super) fn may_elect_anyone(rules: Rules) -> bool {
    !rules.has(Rule::ElectFromSet)
}

/// R13a: returns whether a member that leaves the in-sync set becomes eligible.
pub(super) fn becomes_eligible(rules: Rules, node: &StateNode) -> bool {
    node.in_sync.len() < node.minimum || !rules.has(Rule::EligibleHoldsAll)
}

/// R13b: the directory by which an eligible replica is remembered.
pub(super) fn eligible_directory(rules: Rules, as_member: u8, registered: Registration) -> u8 {
    if rules.has(Rule::EligibleDirectory) || registered.incarnation == 0 {
        as_member
    } else {
        registered.directory
    }
}

/// R13c: returns whether lowering the minimum clears the eligible replicas.
pub(super) fn lowering_clears(rules: Rules, node: &StateNode) -> bool {
    node.in_sync.len() >= node.minimum && rules.has(Rule::EligibleCleared)
}

/// R13d: returns whether a set that has grown clears the eligible replicas.
pub(super) fn growing_clears(rules: Rules, node: &StateNode) -> bool {
    node.in_sync.len() >= node.minimum && rules.has(Rule::EligibleClearedByMinimum)
}

/// R13f: returns whether the minimum may change.
pub(super) fn may_change_minimum(rules: Rules, state: &State) -> bool {
    let leader = state.node.leader;
    let lives = leader.is_some_and(|leader| !leader_is_gone(rules, state, leader));
    lives || !rules.has(Rule::MinimumNeedsLeader)
}

/// R13e: returns whether an eligible replica may be elected beside the in-sync ones.
pub(super) fn may_elect_eligible(rules: Rules, in_sync_lives: bool) -> bool {
    !in_sync_lives || !rules.has(Rule::EligibleAfterSet)
}

/// R16: returns whether a follower that has to truncate takes the answer's watermark first.
pub(super) fn takes_watermark_first(rules: Rules) -> bool {
    !rules.has(Rule::TruncateFirst)
}

/// R18: returns whether a read settles the writes that were sent before it.
pub(super) fn settles_writes(rules: Rules, state: &State, id: BrokerId) -> bool {
    state.writes[id].is_none() || !rules.has(Rule::ReadAfterSync)
}

/// R21a: returns whether replicas report before one leads, if no in-sync member has stayed alive.
pub(super) fn compares_ends(rules: Rules) -> bool {
    rules.has(Rule::EndsAreCompared)
}

/// R21a: returns whether a replica has been alive since it was a member, so that it is believed.
/// The members that an unvouched leader has had are not.
pub(super) fn has_stayed(
    rules: Rules,
    node: &StateNode,
    registered: Registration,
    id: BrokerId,
) -> bool {
    let stayed = node.joined[id] == registered.incarnation && !node.unvouched;
    stayed || !compares_ends(rules)
}

/// R21b: the number of sound reports that an election needs, before the wait is over.
pub(super) fn reports_needed(rules: Rules, minimum: u8, members: u8) -> u8 {
    let least = if rules.has(Rule::TwoReport) { 2 } else { 1 };
    minimum.max(least).min(members)
}

/// R21c: returns whether a replica may be elected that reported less than another.
pub(super) fn may_elect_lesser(rules: Rules) -> bool {
    !rules.has(Rule::GreatestEnd)
}

/// R21d: returns whether a log reaches the greatest watermark that a reporting disk has recorded.
pub(super) fn reaches_floor(rules: Rules, log: &Log, floor: u8) -> bool {
    log.end >= floor || !rules.has(Rule::FloorExcludes)
}

/// R21h: returns whether a leader may ask to add a member.
pub(super) fn may_grow(rules: Rules, node: &StateNode, leader: &Replica) -> bool {
    let waits = node.unvouched && node.epoch == leader.epoch;
    !waits || !rules.has(Rule::UnvouchedAddsNobody)
}

/// R21g: returns whether the controller may remove members from the in-sync set.
pub(super) fn may_change_set(rules: Rules, node: &StateNode, one_stayed: bool) -> bool {
    node.leader.is_some() && (one_stayed || !rules.has(Rule::LastSetIsKept))
}

/// R21e: returns whether members that return after the wait may still be needed.
pub(super) fn waits_for_members(rules: Rules) -> bool {
    rules.has(Rule::LateReturn)
}

/// R21f: returns whether a leader may append.
pub(super) fn may_append(rules: Rules, node: &StateNode, leader: &Replica) -> bool {
    let waits = node.unvouched && node.epoch == leader.epoch;
    !waits || !rules.has(Rule::UnvouchedAppendsNothing)
}

/// R24a, R21e: returns whether a follower keeps its log, and stops, where it should truncate it.
///
/// A log that ends below the recorded watermark has lost records; what is left is not protected.
pub(super) fn keeps_log(rules: Rules, state: &State, id: BrokerId, end: u8) -> bool {
    let replica = &state.replicas[id];
    let floor = floor(rules, state, id);
    let below_floor = is_below_floor(replica, floor, end) && rules.has(Rule::FloorHolds);
    // In a later epoch the replica goes on by what it has read, until it learns more.
    let released = state.node.epoch == replica.epoch && !state.node.unvouched;
    below_floor || replica.keeps && !released && waits_for_members(rules)
}

/// Returns whether a truncation removes records below the watermark that a replica has recorded.
pub(super) fn is_below_floor(replica: &Replica, floor: u8, end: u8) -> bool {
    end < floor && floor <= replica.log.end
}

/// R24b: voids what an earlier loss generation has recorded.
pub(super) fn enter_generation(rules: Rules, replica: &mut Replica, generation: u8) {
    replica.generation = generation;
    if replica.floor.generation < generation && rules.has(Rule::FloorHasGeneration) {
        replica.floor = Floor { end: 0, generation };
    }
}

/// R25: returns whether the fetch of a follower tells a leader that it has lost records.
pub(super) fn has_lost_records(
    rules: Rules,
    state: &State,
    (id, leader): (BrokerId, BrokerId),
    divergence: Option<u8>,
) -> bool {
    let (follower, floor) = (&state.replicas[id], floor(rules, state, id));
    let above_end = floor > state.replicas[leader].log.end && rules.has(Rule::FloorAboveEnd);
    let differs = divergence.is_some_and(|end| is_below_floor(follower, floor, end));
    above_end || differs && rules.has(Rule::FloorAboveDivergence)
}

/// R28: reads the evidence on a disk before its broker registers.
pub(super) fn read_evidence(rules: Rules, replica: &mut Replica, floor: u8) {
    if !rules.has(Rule::LossStays) {
        replica.lost = false;
    }
    let evident = floor > replica.log.end;
    if evident && rules.has(Rule::EvidenceFirst) {
        replica.lost = true;
    }
    if !rules.has(Rule::EvidenceFirst) || !rules.has(Rule::LossStays) {
        // Opening the log writes down what it has, and with that the evidence is gone.
        replica.floor.end = replica.floor.end.min(replica.log.end);
    }
}

/// I14: returns whether a leader shows its records and its watermark to clients.
pub(super) fn may_be_read(rules: Rules, leader: &Replica) -> bool {
    leader.watermark >= leader.leading.epoch_start || !rules.has(Rule::ReadFromEpochStart)
}
