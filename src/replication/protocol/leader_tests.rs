//! A leader that counts its followers.

use std::time::Duration;

use super::{
    CountedFetch, EpochHistory, FetchPosition, FetchingReplica, Floor, InSyncChange, InSyncState,
    Leader, LeaderStart, Rule, Rules,
};
use crate::metadata::{Caching, InSyncOutcome, Incarnation, IsrMember};
use crate::storage::EpochStart;
use crate::types::{BrokerId, LeaderEpoch, Offset};

pub(super) const EPOCH: LeaderEpoch = LeaderEpoch(5);
const LAG_MAX: Duration = Duration::from_secs(10);
pub(super) const START: Duration = Duration::from_secs(100);
const LOG: [EpochStart; 2] = [
    EpochStart { epoch: LeaderEpoch(3), start: Offset::ZERO },
    EpochStart { epoch: LeaderEpoch(4), start: Offset::new(6) },
];

pub(super) fn member(broker: i32) -> IsrMember {
    IsrMember { broker: BrokerId(broker), incarnation: Incarnation(i64::from(broker) * 10) }
}

pub(super) fn state(members: &[i32], version: i32) -> InSyncState {
    let members = members.iter().copied().map(member).collect();
    InSyncState { members, minimum: 2, has_eligible: false, is_unvouched: false, version }
}

/// Broker 1 leads in epoch 5, with its log stored up to its end, 9, and a watermark of 4.
pub(super) fn leader(in_sync: &[i32]) -> Leader {
    leader_by(Rules::ALL, in_sync)
}

pub(super) fn leader_by(rules: Rules, in_sync: &[i32]) -> Leader {
    let start = LeaderStart {
        broker: BrokerId(1),
        epoch: EPOCH,
        log_end: Offset::new(9),
        high_watermark: Offset::new(4),
        in_sync: state(in_sync, 7),
        caching: Caching::Off,
        silent_until: Duration::ZERO,
    };
    let mut leader = Leader::new(rules, start, START);
    leader.flushed(Offset::new(9));
    leader
}

pub(super) fn replica(broker: i32) -> FetchingReplica {
    let IsrMember { broker, incarnation } = member(broker);
    FetchingReplica { broker, incarnation, registered: Some(incarnation), follows: None }
}

pub(super) fn position(offset: i64, flushed: i64) -> FetchPosition {
    let epoch = match offset {
        0 => LeaderEpoch::NONE,
        1..=6 => LeaderEpoch(3),
        _ => LeaderEpoch(4),
    };
    let (offset, flushed) = (Offset::new(offset), Offset::new(flushed));
    FetchPosition { epoch: EPOCH, offset, last_epoch: epoch, flushed, floor: Floor::default() }
}

fn fetch_at(leader: &mut Leader, broker: i32, stored: i64, now: Duration) -> CountedFetch {
    let log = EpochHistory::new(&LOG, Offset::new(9));
    leader.fetched(replica(broker), &position(stored, stored), log, now)
}

pub(super) fn fetch(leader: &mut Leader, broker: i32, stored: i64) -> Option<InSyncChange> {
    match fetch_at(leader, broker, stored, START) {
        CountedFetch::Counted { change, .. } => change,
        other => panic!("a fetch was not counted: {other:?}"),
    }
}

fn watermark(leader: &Leader) -> i64 {
    leader.high_watermark().get()
}

#[test]
fn the_watermark_is_the_least_stored_offset_and_never_falls() {
    let mut leader = leader(&[1, 2, 3]);
    fetch(&mut leader, 2, 7);
    assert_eq!(watermark(&leader), 4, "nobody knows what broker 3 has");
    fetch(&mut leader, 3, 8);
    assert_eq!(watermark(&leader), 7);
    fetch(&mut leader, 2, 6);
    assert_eq!(watermark(&leader), 7);
}

#[test]
fn a_sole_in_sync_replica_replicates_what_it_stores() {
    let start = LeaderStart {
        broker: BrokerId(1),
        epoch: EPOCH,
        log_end: Offset::new(9),
        high_watermark: Offset::new(4),
        in_sync: InSyncState {
            members: vec![member(1)],
            minimum: 1,
            has_eligible: false,
            is_unvouched: false,
            version: 0,
        },
        caching: Caching::Off,
        silent_until: Duration::ZERO,
    };
    let mut leader = Leader::new(Rules::ALL, start, START);
    assert!(!leader.is_readable());
    assert!(leader.flushed(Offset::new(9)));
    assert_eq!(watermark(&leader), 9);
    assert!(leader.is_readable());
    assert!(!leader.flushed(Offset::new(9)), "it has not moved");
}

#[test]
fn the_watermark_stands_still_below_the_minimum() {
    let mut leader = leader(&[1]);
    assert_eq!(watermark(&leader), 4);
    assert!(!leader.in_sync().has_minimum());
    let change = fetch(&mut leader, 2, 9).unwrap();
    assert_eq!(watermark(&leader), 4, "the state with broker 2 is not in force yet");
    assert!(leader.change_answered(change.id, InSyncOutcome::Applied { version: 8 }));
    assert_eq!(watermark(&leader), 9);
}

#[test]
fn a_replica_joins_at_the_watermark_and_at_the_start_of_the_epoch() {
    let mut leader = leader(&[1, 2]);
    fetch(&mut leader, 2, 6);
    assert_eq!(watermark(&leader), 6);
    assert_eq!(fetch(&mut leader, 3, 5), None);
    assert_eq!(fetch(&mut leader, 3, 8), None, "the epoch starts at 9");
    let change = fetch(&mut leader, 3, 9).unwrap();
    assert_eq!(change.members, [1, 2, 3].map(member));
    assert_eq!(change.version, 7);
}

#[test]
fn a_replica_joins_only_as_the_registered_incarnation() {
    let mut leader = leader(&[1, 2]);
    let log = EpochHistory::new(&LOG, Offset::new(9));
    for registered in [None, Some(Incarnation(31))] {
        let earlier = FetchingReplica { registered, ..replica(3) };
        let counted = leader.fetched(earlier, &position(9, 9), log, START);
        assert_eq!(counted, CountedFetch::Counted { has_advanced: false, change: None });
    }
    assert!(fetch(&mut leader, 3, 9).is_some());
}

#[test]
fn without_its_rule_an_incarnation_joins_that_has_fetched_nothing() {
    let mut leader = leader_by(Rules::ALL.without(Rule::JoinByIncarnation), &[1, 2]);
    let log = EpochHistory::new(&LOG, Offset::new(9));
    let late = FetchingReplica { registered: Some(Incarnation(31)), ..replica(3) };
    match leader.fetched(late, &position(9, 9), log, START) {
        CountedFetch::Counted { change: Some(change), .. } => {
            assert_eq!(change.members[2].incarnation, Incarnation(31));
        }
        other => panic!("nothing joined: {other:?}"),
    }
}

#[test]
fn a_later_incarnation_does_not_inherit_the_progress_of_an_earlier_one() {
    let mut leader = leader(&[1, 2]);
    let log = EpochHistory::new(&LOG, Offset::new(9));
    let restarted = FetchingReplica { incarnation: Incarnation(21), ..replica(2) };
    leader.fetched(restarted, &position(9, 9), log, START);
    assert_eq!(watermark(&leader), 4, "the member is incarnation 20");
    let late = leader.fetched(replica(2), &position(9, 9), log, START);
    assert_eq!(late, CountedFetch::Fenced);
}

#[test]
fn a_fetch_of_another_epoch_is_not_counted() {
    let mut leader = leader(&[1, 2]);
    let log = EpochHistory::new(&LOG, Offset::new(9));
    for epoch in [4, 6].map(LeaderEpoch) {
        let position = FetchPosition { epoch, ..position(9, 9) };
        assert_eq!(leader.fetched(replica(2), &position, log, START), CountedFetch::Fenced);
    }
    assert_eq!(watermark(&leader), 4);
}

#[test]
fn a_log_that_diverges_is_not_counted() {
    let mut leader = leader(&[1, 2]);
    let log = EpochHistory::new(&LOG, Offset::new(9));
    let diverging = [
        (position(9, 9), LeaderEpoch(3), (3, 6)),
        (position(8, 8), LeaderEpoch(5), (4, 9)),
        (FetchPosition { offset: Offset::new(10), ..position(9, 9) }, LeaderEpoch(4), (4, 9)),
        (FetchPosition { offset: Offset::new(12), ..position(0, 0) }, LeaderEpoch::NONE, (-1, 9)),
    ];
    for (position, last_epoch, (epoch, end)) in diverging {
        let position = FetchPosition { last_epoch, ..position };
        let expected = CountedFetch::Diverging { epoch: LeaderEpoch(epoch), end: Offset::new(end) };
        assert_eq!(leader.fetched(replica(2), &position, log, START), expected);
    }
    assert_eq!(watermark(&leader), 4);
}

#[test]
fn a_floor_above_the_log_or_kept_against_it_shows_a_leader_that_it_has_lost_records() {
    let log = EpochHistory::new(&LOG, Offset::new(9));
    let answered = |rules, offset, is_kept| {
        let floor = Floor { offset: Offset::new(offset), is_kept };
        let position = FetchPosition { floor, ..position(9, 9) };
        leader_by(rules, &[1, 2]).fetched(replica(2), &position, log, START)
    };
    let without = |rule| Rules::ALL.without(rule);
    assert!(matches!(answered(Rules::ALL, 9, false), CountedFetch::Counted { .. }));
    assert_eq!(answered(Rules::ALL, 10, false), CountedFetch::RecordsLost);
    assert_eq!(answered(Rules::ALL, 8, true), CountedFetch::RecordsLost);
    let rule = without(Rule::FloorAboveEnd);
    assert!(matches!(answered(rule, 10, false), CountedFetch::Counted { .. }));
    let rule = without(Rule::FloorAboveDivergence);
    assert!(matches!(answered(rule, 8, true), CountedFetch::Counted { .. }));
    let floor = Floor { offset: Offset::new(10), is_kept: true };
    let position = FetchPosition { floor, epoch: LeaderEpoch(4), ..position(9, 9) };
    let mut leader = leader_by(Rules::ALL, &[1, 2]);
    let fenced = leader.fetched(replica(2), &position, log, START);
    assert_eq!(fenced, CountedFetch::Fenced, "an operator may have given the records up since");
}

#[test]
fn a_replica_counts_for_no_more_than_it_has() {
    let mut leader = leader(&[1, 2]);
    let log = EpochHistory::new(&LOG, Offset::new(9));
    leader.fetched(replica(2), &position(6, 9), log, START);
    assert_eq!(watermark(&leader), 6);
}

#[test]
fn a_set_asked_for_counts_until_its_outcome_is_known() {
    let mut leader = leader(&[1, 2]);
    let change = fetch(&mut leader, 3, 9).unwrap();
    assert_eq!(fetch(&mut leader, 3, 9), None, "one change at a time");
    // Broker 3 returns as incarnation 31, which has fetched nothing: its old position is void.
    let log = EpochHistory::new(&LOG, Offset::new(9));
    let restarted = FetchingReplica { incarnation: Incarnation(31), ..replica(3) };
    leader.fetched(restarted, &position(0, 0), log, START);
    fetch(&mut leader, 2, 9);
    assert_eq!(watermark(&leader), 4);
    assert!(!leader.change_answered(change.id, InSyncOutcome::Unknown));
    assert!(!leader.state_read(state(&[1, 2], 7), false), "the read may come too early");
    assert_eq!(watermark(&leader), 4);
    assert!(leader.state_read(state(&[1, 2], 7), true));
    assert_eq!(watermark(&leader), 9);
}

#[test]
fn a_later_version_settles_a_change_of_unknown_outcome() {
    let mut leader = leader(&[1, 2]);
    let change = fetch(&mut leader, 3, 9).unwrap();
    leader.change_answered(change.id, InSyncOutcome::Unknown);
    fetch(&mut leader, 2, 9);
    leader.state_read(state(&[1, 2, 3], 8), false);
    assert_eq!(leader.in_sync().members(), [1, 2, 3].map(member));
    assert_eq!(watermark(&leader), 9);
    leader.change_answered(change.id, InSyncOutcome::Refused);
    leader.state_read(state(&[1, 2], 7), true);
    assert_eq!(leader.in_sync().members().len(), 3, "versions do not go back");
}

#[test]
fn a_refused_change_is_asked_for_again_after_a_pause_or_from_another_state() {
    let mut leader = leader(&[1, 2]);
    let ask_after = |leader: &mut Leader, millis: u64| {
        let counted = fetch_at(leader, 3, 9, START + Duration::from_millis(millis));
        let CountedFetch::Counted { change, .. } = counted else { panic!("{counted:?}") };
        change
    };
    let change = ask_after(&mut leader, 0).unwrap();
    leader.change_answered(change.id, InSyncOutcome::Refused);
    assert_eq!(ask_after(&mut leader, 1), None);
    assert_eq!(ask_after(&mut leader, 499), None);
    let change = ask_after(&mut leader, 500).unwrap();
    leader.change_answered(change.id, InSyncOutcome::Refused);
    leader.state_read(state(&[1, 2], 7), true);
    assert_eq!(ask_after(&mut leader, 501), None, "it is the state that was refused");
    leader.state_read(state(&[1, 2], 8), true);
    assert!(ask_after(&mut leader, 502).is_some());
}

#[test]
fn a_refused_join_delays_neither_other_joins_nor_the_removal_of_a_member() {
    let at = |millis: u64| START + Duration::from_millis(millis);
    let mut leader = leader(&[1, 2]);
    let CountedFetch::Counted { change: Some(refused), .. } = fetch_at(&mut leader, 3, 9, START)
    else {
        panic!("replica 3 has everything");
    };
    leader.change_answered(refused.id, InSyncOutcome::Refused);
    let CountedFetch::Counted { change: Some(join), .. } = fetch_at(&mut leader, 4, 9, at(1))
    else {
        panic!("replica 4 has everything");
    };
    leader.change_answered(join.id, InSyncOutcome::Refused);
    let removal = leader.remove_lagging(at(2), Duration::ZERO).unwrap();
    assert_eq!(removal.members.iter().map(|member| member.broker.0).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_member_that_lags_for_too_long_leaves() {
    let mut leader = leader(&[1, 2, 3]);
    let later = START + LAG_MAX;
    assert_eq!(leader.remove_lagging(later, LAG_MAX), None);
    // Broker 2 has all records that the leader had at its last fetch; broker 3 falls behind.
    fetch_at(&mut leader, 2, 9, later);
    fetch_at(&mut leader, 3, 6, later);
    let change = leader.remove_lagging(later + Duration::from_millis(1), LAG_MAX).unwrap();
    assert_eq!(change.members, [1, 2].map(member));
    assert_eq!(leader.remove_lagging(later + LAG_MAX * 2, LAG_MAX), None, "one at a time");
    assert_eq!(watermark(&leader), 6, "broker 3 counts until it has left");
    leader.change_answered(change.id, InSyncOutcome::Applied { version: 8 });
    assert_eq!(watermark(&leader), 9);
}

/// Broker 1 leads alone, with this minimum, and is not believed yet.
fn unvouched(rules: Rules, minimum: usize) -> Leader {
    let mut leader = leader_by(rules, &[1]);
    let in_sync = InSyncState { minimum, has_eligible: true, is_unvouched: true, ..state(&[1], 8) };
    leader.state_read(in_sync, true);
    leader
}

#[test]
fn a_leader_that_is_not_believed_adds_nobody_and_hands_over_to_nobody() {
    let without = Rules::ALL.without(Rule::UnvouchedChangesNothing);
    for (rules, may) in [(Rules::ALL, false), (without, true)] {
        for minimum in [2, 3] {
            assert_eq!(fetch(&mut unvouched(rules, minimum), 2, 9).is_some(), may);
        }
        let mut leader = unvouched(rules, 3);
        let pair =
            InSyncState { minimum: 3, has_eligible: true, is_unvouched: true, ..state(&[1, 2], 9) };
        leader.state_read(pair, true);
        assert_eq!(leader.begin_hand_over(BrokerId(2), START), may);
    }
}
