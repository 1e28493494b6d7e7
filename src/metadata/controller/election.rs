//! Leader election for a partition, given the live brokers.
//!
//! A member of the in-sync set is identified by its incarnation, not only by its id: a broker that
//! came back must rejoin. A member that has stayed alive is elected at once, and so is an eligible
//! replica if no member is alive. Otherwise the partition gets no leader until its replicas have
//! reported their logs: `reports.rs` decides by the reports, and `unvouched.rs` by those that come
//! after the wait for them. This module elects no other broker;
//! `unclean_election.rs` does, if an operator accepts the loss.
//!
//! A member that has lost data is struck out of the set when another is elected. Until then the set
//! stays as it is, so that the number of its members tells how many reports are needed, and
//! operators can see which brokers had the records. If all of them have lost records, they are
//! recorded with a data directory that does not exist.

use crate::metadata::controller::evidence::{Evidence, Terms, directory, registered};
use crate::metadata::controller::reports::{Elected, LastSet, elected_by_reports, is_below_floor};
use crate::metadata::controller::unvouched::{after_returns, living, strike_out_stayed};
use crate::metadata::image::{
    Caching, EligibleReplica, Image, Incarnation, IsrMember, Partition, PartitionState,
};
use crate::metadata::in_sync::{eligible, rules, with_members};
use crate::types::{BrokerId, LeaderEpoch};

/// The state that the partition should get; `None` if its state is right, or nothing can be done.
pub(super) fn elect(partition: &Partition, image: &Image, terms: Terms) -> Option<PartitionState> {
    let minimum = terms.minimum;
    let Some(state) = &partition.state else {
        return first_state(&partition.replicas, image, terms);
    };
    if state.leader.is_some_and(|leader| image.has_lost_registration(leader)) {
        // Its lease may go on until it has noticed that. It registers again, or its session ends.
        return None;
    }
    let evidence = Evidence { image, id: terms.id, rules: terms.rules };
    let mut next = next_state(state, &partition.replicas, evidence, terms);
    if terms.rules.may_change_set(next.leader) {
        next.eligible.retain(|replica| {
            !evidence.lacks_data(replica) && !is_below_floor(replica.broker, state, evidence)
        });
    }
    if next.eligible.is_empty() && next.leader.is_some() {
        next.unvouched = None;
    }
    next.caching = rules::caching_by_setting(next.caching, terms.caches);
    if terms.rules.may_change_minimum(&next) && next.minimum != Some(minimum) {
        next.minimum = Some(minimum);
        if !terms.rules.keeps_eligible(next.isr.len(), minimum) {
            next.eligible.clear();
        }
    }
    if begins_epoch(state, &next) {
        next.is_handed_over = false;
        next.leader_epoch = LeaderEpoch(state.leader_epoch.0.saturating_add(1));
    }
    (next != **state).then_some(next)
}

/// Returns true if the next state begins a leader epoch. It does not if the leader stays and only
/// loses members of its in-sync set: what it has appended can still be acknowledged by those that
/// are left. Until it reads the new state, it waits for more members than it needs.
fn begins_epoch(state: &PartitionState, next: &PartitionState) -> bool {
    let is_left = |member: &IsrMember| state.isr.contains(member);
    next.leading() != state.leading()
        || next.unvouched != state.unvouched
        || next.leader.is_none() && next.isr != state.isr
        || !next.isr.iter().all(is_left)
}

fn first_state(replicas: &[BrokerId], image: &Image, terms: Terms) -> Option<PartitionState> {
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
        minimum: Some(terms.minimum),
        damaged: Vec::new(),
        is_handed_over: false,
        loss: None,
        unvouched: None,
        caching: rules::caching_by_setting(Caching::Off, terms.caches),
        caching_ended: None,
        created: 0,
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
    terms: Terms,
) -> PartitionState {
    let leads_on = |member: &&IsrMember| {
        state.leader == Some(member.broker) && state.leader_incarnation == member.incarnation
    };
    let Elected { isr, unvouched } = match living(state, evidence) {
        Some(log) => after_returns(state, log, evidence, terms),
        None => electable(state, replicas, evidence, terms),
    };
    let leader = isr.iter().find(leads_on).copied().or_else(|| preferred(replicas, &isr));
    if let Some(leader) = leader {
        let mut next =
            with_members(state, (isr, terms.rules), |broker| directory(evidence.image, broker));
        if state.has_strangers() && unvouched.is_some() {
            // Any of the others may have more, however many are in sync: as after the rebuilding,
            // the high watermark stands still until all have reported.
            next.minimum = Some(replicas.len());
            next.eligible = strangers(eligible(state, &next.isr));
        }
        if state.unvouched.is_some() && state.leading() != Some(leader) {
            strike_out_stayed(&mut next, evidence);
        }
        next.unvouched = unvouched.filter(|_| !next.eligible.is_empty());
        next.leader = Some(leader.broker);
        next.leader_incarnation = leader.incarnation;
        return next;
    }
    let mut next = state.clone();
    if terms.rules.may_change_set(None) {
        let left = evidence.last_members(state);
        next = with_members(state, (left, terms.rules), |broker| directory(evidence.image, broker));
    } else if replicas.len() > 1 && evidence.have_all_lost_data(state) {
        // What a single replica has lost, nobody else has: what is left can be read.
        evidence.mark_lost_records(&mut next);
    }
    PartitionState { leader: None, leader_incarnation: Incarnation::UNKNOWN, ..next }
}

/// These replicas, not known any more to have been in sync.
fn strangers(replicas: Vec<EligibleReplica>) -> Vec<EligibleReplica> {
    let incarnation = Some(Incarnation::UNKNOWN);
    replicas.into_iter().map(|replica| EligibleReplica { incarnation, ..replica }).collect()
}

/// The in-sync set after an election.
fn electable(
    state: &PartitionState,
    replicas: &[BrokerId],
    evidence: Evidence<'_>,
    terms: Terms,
) -> Elected {
    let believed = |isr| Elected { isr, unvouched: None };
    let may_stay = state.unvouched.is_none();
    let members = state.isr.iter().copied().filter(|_| may_stay);
    let stayed: Vec<_> = members.filter(|member| evidence.stays(state, member)).collect();
    if !stayed.is_empty() {
        return believed(stayed);
    }
    let returned = evidence.returned(state);
    if returned.is_empty() && may_stay {
        let stayed = evidence.eligible(state).filter(|(replica, now)| {
            replica.incarnation == Some(now.incarnation) || !terms.rules.compares_ends()
        });
        let stayed: Vec<IsrMember> = stayed.map(|(_, now)| now).collect();
        if let Some(member) = preferred(replicas, &stayed) {
            return believed(vec![member]);
        }
    }
    if returned.is_empty() && terms.rules.may_elect_strangers() {
        let live = replicas.iter().filter_map(|broker| registered(evidence.image, *broker));
        return believed(live.take(1).collect());
    }
    let last_set = LastSet::of(state, terms.rules);
    if last_set.len() == 1 || !terms.rules.compares_ends() {
        // Nobody else has the records.
        return believed(returned);
    }
    elected_by_reports(state, &last_set, evidence, terms)
}

/// The first of the replicas that is among these members.
fn preferred(replicas: &[BrokerId], members: &[IsrMember]) -> Option<IsrMember> {
    replicas.iter().find_map(|id| members.iter().find(|m| m.broker == *id).copied())
}
