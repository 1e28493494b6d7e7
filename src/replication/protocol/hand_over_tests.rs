//! A leader that hands over: to which replica, when, and its silence while the outcome is unknown.

use std::time::Duration;

use super::leader_tests::{START, fetch, leader, leader_by, member, state};
use super::{HandOverStage, HandOverStep, InSyncChange, Leader, Rule, Rules};
use crate::metadata::InSyncOutcome;
use crate::types::{BrokerId, Offset};

const LOG_END: Offset = Offset::new(9);
const SUCCESSOR: BrokerId = BrokerId(2);

fn step(leader: &mut Leader, after: Duration) -> HandOverStep {
    leader.continue_hand_over(LOG_END, START + after)
}

/// Begins to hand over to broker 2, once all members have stored the whole log.
fn ask(leader: &mut Leader) -> InSyncChange {
    let members: Vec<_> = leader.in_sync().members().iter().map(|member| member.broker.0).collect();
    for broker in members.into_iter().filter(|broker| *broker != 1) {
        fetch(leader, broker, 9);
    }
    assert!(leader.begin_hand_over(SUCCESSOR, START));
    match step(leader, Duration::ZERO) {
        HandOverStep::Ask(change) => change,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_in_sync_replica_that_has_the_whole_log_is_asked_for() {
    let mut leader = leader(&[1, 2, 3]);
    assert_eq!(step(&mut leader, Duration::ZERO), HandOverStep::Over);
    let change = ask(&mut leader);
    assert_eq!((change.successor, change.version), (Some(member(2)), 7));
    assert_eq!(change.members, [1, 2, 3].map(member), "nobody leaves the set");
    assert_eq!(leader.hand_over_stage(), HandOverStage::Silent);
    assert_eq!(step(&mut leader, Duration::ZERO), HandOverStep::Wait);
    assert_eq!(fetch(&mut leader, 4, 9), None, "one change at a time");
    leader.change_answered(change.id, InSyncOutcome::Applied { version: 8 });
    assert_eq!(leader.hand_over_stage(), HandOverStage::Silent, "until the epoch ends");
}

#[test]
fn a_leader_hands_over_to_another_member_only_and_to_one_at_a_time() {
    let mut leader = leader(&[1, 2]);
    for broker in [1, 3] {
        assert!(!leader.begin_hand_over(BrokerId(broker), START), "broker {broker}");
    }
    assert_eq!(leader.hand_over_stage(), HandOverStage::None);
    assert!(leader.begin_hand_over(SUCCESSOR, START));
    assert_eq!(leader.hand_over_stage(), HandOverStage::CatchingUp);
    assert!(!leader.begin_hand_over(SUCCESSOR, START));
    leader.state_read(state(&[1], 8), false);
    assert_eq!(step(&mut leader, Duration::ZERO), HandOverStep::Over, "it has left the set");
}

#[test]
fn the_successor_and_waiting_producers_come_first() {
    let mut leader = leader(&[1, 2, 3]);
    fetch(&mut leader, 3, 6);
    assert!(leader.begin_hand_over(SUCCESSOR, START));
    for (broker, stored) in [(2, 6), (2, 9)] {
        fetch(&mut leader, broker, stored);
        assert_eq!(step(&mut leader, Duration::ZERO), HandOverStep::Wait);
    }
    fetch(&mut leader, 3, 9);
    assert!(matches!(step(&mut leader, Duration::ZERO), HandOverStep::Ask(_)));
}

#[test]
fn below_the_minimum_no_producer_is_waited_for() {
    let mut leader = leader(&[1, 2]);
    let mut state = state(&[1, 2], 8);
    state.minimum = 3;
    leader.state_read(state, false);
    fetch(&mut leader, 2, 9);
    assert!(leader.begin_hand_over(SUCCESSOR, START));
    assert!(matches!(step(&mut leader, Duration::ZERO), HandOverStep::Ask(_)));
}

#[test]
fn a_leader_whose_successor_does_not_catch_up_in_5_s_leads_on() {
    let mut leader = leader(&[1, 2]);
    assert!(leader.begin_hand_over(SUCCESSOR, START));
    assert_eq!(step(&mut leader, Duration::from_secs(5)), HandOverStep::Wait);
    assert_eq!(step(&mut leader, Duration::from_millis(5_001)), HandOverStep::Over);
    assert_eq!(leader.hand_over_stage(), HandOverStage::None);
    assert!(leader.begin_hand_over(SUCCESSOR, START), "it is tried again later");
}

#[test]
fn a_refused_hand_over_is_over() {
    let mut leader = leader(&[1, 2]);
    let change = ask(&mut leader);
    leader.change_answered(change.id, InSyncOutcome::Refused);
    assert_eq!(leader.hand_over_stage(), HandOverStage::None);
}

#[test]
fn a_leader_that_may_have_handed_over_is_silent_until_a_later_state_of_its_epoch_is_read() {
    let mut leader = leader(&[1, 2]);
    let change = ask(&mut leader);
    leader.change_answered(change.id, InSyncOutcome::Unknown);
    // The first attempt may have been applied, and the new leader may have changed the state since.
    leader.change_answered(change.id, InSyncOutcome::Refused);
    leader.state_read(state(&[1, 2], 7), false);
    assert_eq!(leader.hand_over_stage(), HandOverStage::Silent);
    leader.state_read(state(&[1, 2], 8), false);
    assert_eq!(leader.hand_over_stage(), HandOverStage::None);
}

/// Invariant I31 of `model/`: returns true if it is broken, because a leader answers after the
/// store has made another broker the leader.
fn two_leaders_answer(rules: Rules) -> bool {
    let mut old = leader_by(rules, &[1, 2]);
    let change = ask(&mut old);
    let answers = |leader: &Leader| leader.hand_over_stage() != HandOverStage::Silent;
    // The change is made at this moment, and its answer is lost.
    let while_asking = answers(&old);
    old.change_answered(change.id, InSyncOutcome::Unknown);
    while_asking || answers(&old)
}

/// Returns true if a leader asks for a successor that lacks records, although it could have waited
/// for it.
fn records_are_given_up(rules: Rules) -> bool {
    let mut leader = leader_by(rules, &[1, 2]);
    fetch(&mut leader, 2, 6);
    let mut state = state(&[1, 2], 8);
    state.minimum = 3;
    leader.state_read(state, false);
    assert!(leader.begin_hand_over(SUCCESSOR, START));
    matches!(step(&mut leader, Duration::ZERO), HandOverStep::Ask(_))
}

#[test]
fn each_rule_of_the_hand_over_prevents_damage() {
    let without = |rule| Rules::ALL.without(rule);
    assert!(!two_leaders_answer(Rules::ALL) && !records_are_given_up(Rules::ALL));
    assert!(two_leaders_answer(without(Rule::HandOverSilent)));
    assert!(two_leaders_answer(without(Rule::HandOverUnknown)));
    assert!(records_are_given_up(without(Rule::HandOverAtEnd)));
}
