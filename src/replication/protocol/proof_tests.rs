//! Leaders without a lease, and new leaders that are silent: the damage that each part of rule R6
//! in `rules.rs` prevents.
//!
//! Each test shows a state in which another broker could lead, the decision under all rules, and
//! the wrong one without the rule. `tests/simulation` looks for the damage in brokers under faults.

use std::time::Duration;

use super::leader_tests::{EPOCH, START, leader_by, member, state};
use super::{
    Asks, CountedFetch, EpochHistory, FetchPosition, FetchingReplica, Floor, HandOverStep,
    InSyncState, Leader, LeaderStart, Rule, Rules,
};
use crate::metadata::{Caching, InSyncOutcome, Incarnation, IsrMember};
use crate::storage::EpochStart;
use crate::types::{BrokerId, LeaderEpoch, Offset};

const END: Offset = Offset::new(9);
const LOG: [EpochStart; 1] = [EpochStart { epoch: LeaderEpoch(4), start: Offset::ZERO }];

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A fetch that arrives at `now`, and follows an answer that was sent at `follows`.
fn fetch(
    leader: &mut Leader,
    IsrMember { broker, incarnation }: IsrMember,
    follows: Option<Duration>,
    now: Duration,
) -> CountedFetch {
    let replica = FetchingReplica { broker, incarnation, registered: Some(incarnation), follows };
    let last_epoch = LeaderEpoch(4);
    let floor = Floor::default();
    let position = FetchPosition { epoch: EPOCH, offset: END, last_epoch, flushed: END, floor };
    leader.fetched(replica, &position, EpochHistory::new(&LOG, END), now)
}

/// A leader with this state, silent until some time.
fn leader_in(rules: Rules, in_sync: InSyncState, silent_until: Duration) -> Leader {
    let start = LeaderStart {
        broker: BrokerId(1),
        epoch: EPOCH,
        log_end: END,
        high_watermark: END,
        in_sync,
        caching: Caching::Off,
        silent_until,
    };
    let mut leader = Leader::new(rules, start, START);
    leader.flushed(END);
    leader
}

#[test]
fn a_leader_has_proof_while_all_other_members_have_answered_a_recent_answer() {
    let mut leader = leader_by(Rules::ALL, &[1, 2, 3]);
    assert!(!leader.has_proof(START));
    fetch(&mut leader, member(2), Some(START), START + millis(300));
    assert!(!leader.has_proof(START + millis(300)), "broker 3 may have been elected");
    fetch(&mut leader, member(3), Some(START + millis(100)), START + millis(300));
    assert!(leader.has_proof(START + millis(1_499)));
    assert!(!leader.has_proof(START + millis(1_500)));
    fetch(&mut leader, member(2), None, START + millis(1_500));
    assert!(!leader.has_proof(START + millis(1_500)), "the first fetch of a session follows none");
    let other = IsrMember { incarnation: Incarnation(21), ..member(2) };
    fetch(&mut leader, other, Some(START + millis(1_400)), START + millis(1_500));
    assert!(!leader.has_proof(START + millis(1_500)), "it is not the member");
    assert!(leader_by(Rules::ALL, &[1]).has_proof(START), "nobody else can be elected");
}

#[test]
fn proof_counts_from_the_answer_that_a_fetch_follows_and_not_from_its_arrival() {
    let is_proof = |rules| {
        let mut leader = leader_by(rules, &[1, 2]);
        fetch(&mut leader, member(2), Some(START), START + millis(3_000));
        leader.has_proof(START + millis(3_000))
    };
    assert!(!is_proof(Rules::ALL), "the follower has been silent long enough to lead");
    assert!(is_proof(Rules::ALL.without(Rule::ProofFromSending)));
}

#[test]
fn a_member_that_has_only_been_asked_for_must_prove_too() {
    let is_proof = |rules, outcome| {
        let mut leader = leader_in(rules, state(&[1, 2], 7), Duration::ZERO);
        fetch(&mut leader, member(2), Some(START), START);
        let counted = fetch(&mut leader, member(3), None, START);
        let CountedFetch::Counted { change: Some(change), .. } = counted else {
            panic!("it does not join: {counted:?}");
        };
        leader.change_answered(change.id, outcome);
        leader.has_proof(START)
    };
    assert!(!is_proof(Rules::ALL, InSyncOutcome::Unknown), "it may be a member, and lead");
    assert!(is_proof(Rules::ALL.without(Rule::ProofByAll), InSyncOutcome::Unknown));
    assert!(is_proof(Rules::ALL, InSyncOutcome::Refused));
}

#[test]
fn there_is_no_proof_while_a_replica_may_be_eligible() {
    let is_proof = |rules, in_sync, lag| {
        let mut leader = leader_in(rules, in_sync, Duration::ZERO);
        fetch(&mut leader, member(2), Some(START), START);
        let now = START + lag;
        leader.remove_lagging(now, millis(500));
        fetch(&mut leader, member(2), Some(now), now);
        leader.has_proof(now)
    };
    let eligible = InSyncState { has_eligible: true, ..state(&[1, 2], 7) };
    let without = Rules::ALL.without(Rule::NoProofWithEligible);
    assert!(!is_proof(Rules::ALL, eligible.clone(), Duration::ZERO));
    assert!(is_proof(without, eligible, Duration::ZERO));
    // Broker 2 has lagged, and the set without it is below the minimum of two.
    assert!(!is_proof(Rules::ALL, state(&[1, 2], 7), millis(900)));
    assert!(is_proof(without, state(&[1, 2], 7), millis(900)));
}

#[test]
fn a_leader_knows_of_the_eligible_replicas_of_a_change_that_was_made() {
    let mut leader = leader_in(Rules::ALL, state(&[1, 2], 7), Duration::ZERO);
    let shrunk = leader.remove_lagging(START + millis(900), millis(500)).unwrap();
    leader.change_answered(shrunk.id, InSyncOutcome::Applied { version: 8 });
    assert!(!leader.has_proof(START), "the second is eligible");
    let counted = fetch(&mut leader, member(2), Some(START), START);
    let CountedFetch::Counted { change: Some(grown), .. } = counted else { panic!("{counted:?}") };
    leader.change_answered(grown.id, InSyncOutcome::Applied { version: 9 });
    assert!(leader.has_proof(START), "the set has its minimum again");
}

#[test]
fn a_silent_leader_neither_grows_the_set_nor_hands_over() {
    let until = START + millis(2_000);
    let grows = |rules: Rules, now: Duration| {
        let mut leader = leader_in(rules, state(&[1, 2], 7), until);
        matches!(
            fetch(&mut leader, member(3), None, now),
            CountedFetch::Counted { change: Some(_), .. }
        )
    };
    let hands_over = |rules: Rules, now: Duration| {
        let mut leader = leader_in(rules, state(&[1, 2], 7), until);
        fetch(&mut leader, member(2), None, now);
        assert!(leader.begin_hand_over(BrokerId(2), now));
        match leader.continue_hand_over(END, now) {
            HandOverStep::Ask(_) => true,
            HandOverStep::Wait => false,
            HandOverStep::Over => panic!("it does not wait for the end of its silence"),
        }
    };
    let kinds: [&dyn Fn(Rules, Duration) -> bool; 2] = [&grows, &hands_over];
    for acts in kinds {
        assert!(!acts(Rules::ALL, START));
        assert!(acts(Rules::ALL.without(Rule::WaitChangesNothing), START));
        assert!(acts(Rules::ALL, until));
    }
}

#[test]
fn the_silence_of_a_new_leader_outlasts_the_proof_by_its_fetches() {
    // The replica began to note fetches long ago, and fetches at the moment when the leader has
    // answered.
    let silent_until = |rules: Rules| {
        let mut asks = Asks::default();
        asks.begin(Duration::ZERO);
        asks.note(member(1), START, rules);
        asks.silent_until(rules, |_| false)
    };
    let mut before = leader_by(Rules::ALL, &[1, 2]);
    fetch(&mut before, member(2), Some(START), START);
    for (rules, is_sound) in [
        (Rules::ALL, true),
        (Rules::ALL.without(Rule::ProofEndsFirst), false),
        (Rules::ALL.without(Rule::WaitForAsked), false),
    ] {
        assert_eq!(!before.has_proof(silent_until(rules)), is_sound, "{rules:?}");
    }
}

#[test]
fn a_broker_that_starts_is_silent_as_if_it_had_asked_every_other() {
    let silent_until = |rules: Rules| {
        let mut asks = Asks::default();
        asks.begin(START);
        asks.silent_until(rules, |_| false)
    };
    assert_eq!(silent_until(Rules::ALL), START + millis(2_000));
    assert!(silent_until(Rules::ALL.without(Rule::RestartWaits)) <= START);
}
