//! A follower that takes a leader's answers.

use super::{EpochHistory, FetchAnswer, FetchOutcome, Follower, FollowerStep, Rule, Rules};
use crate::storage::EpochStart;
use crate::types::{BrokerId, LeaderEpoch, Offset};

const LOG: [EpochStart; 2] = [
    EpochStart { epoch: LeaderEpoch(3), start: Offset::ZERO },
    EpochStart { epoch: LeaderEpoch(4), start: Offset::new(6) },
];

fn follower() -> Follower {
    Follower::new(Rules::ALL, BrokerId(1), LeaderEpoch(5), Offset::new(4))
}

fn log(end: i64) -> EpochHistory<'static> {
    EpochHistory::new(&LOG, Offset::new(end))
}

/// The answer to a fetch at the end of a log whose records are all stored.
fn answer(follower: &mut Follower, end: i64, outcome: FetchOutcome) -> FetchAnswer {
    FetchAnswer {
        position: follower.position(log(end), Offset::new(end), Some(Offset::ZERO)),
        outcome,
        high_watermark: Offset::new(8),
        log_start: Offset::new(2),
    }
}

fn diverging(epoch: i32, end: i64) -> FetchOutcome {
    FetchOutcome::Diverging { epoch: LeaderEpoch(epoch), end: Offset::new(end) }
}

#[test]
fn the_watermark_follows_the_leaders_up_to_what_is_stored() {
    let mut follower = follower();
    let answer = answer(&mut follower, 6, FetchOutcome::Records);
    assert_eq!(follower.answered(&answer, log(6), Offset::ZERO), FollowerStep::Append);
    assert_eq!(follower.high_watermark(), Offset::new(6));
    follower.stored(Offset::new(7));
    assert_eq!(follower.high_watermark(), Offset::new(7));
    follower.stored(Offset::new(9));
    assert_eq!(follower.high_watermark(), Offset::new(8));
}

#[test]
fn a_log_is_truncated_where_the_epochs_diverge() {
    for (leaders, to) in [((4, 7), 7), ((3, 5), 5), ((3, 8), 6), ((2, 3), 0)] {
        let mut follower = follower();
        let answer = answer(&mut follower, 9, diverging(leaders.0, leaders.1));
        let step = follower.answered(&answer, log(9), Offset::ZERO);
        assert_eq!(step, FollowerStep::Truncate(Offset::new(to)), "{leaders:?}");
        assert_eq!(follower.high_watermark(), Offset::new(4), "not before the truncation");
    }
}

#[test]
fn a_watermark_does_not_stay_beyond_the_end_of_the_log() {
    let mut follower = follower();
    follower.truncated(Offset::new(3));
    follower.stored(Offset::new(5));
    assert_eq!(follower.high_watermark(), Offset::new(3));
}

#[test]
fn a_log_below_the_leaders_starts_over() {
    let mut follower = follower();
    let behind = answer(&mut follower, 1, FetchOutcome::OutOfRange);
    let step = follower.answered(&behind, log(1), Offset::ZERO);
    assert_eq!(step, FollowerStep::StartOver(Offset::new(2)));
    let diverged = answer(&mut follower, 9, diverging(3, 4));
    let step = follower.answered(&diverged, log(9), Offset::new(5));
    assert_eq!(step, FollowerStep::StartOver(Offset::new(2)), "5 is as far as it goes back");
    follower.started_over(Offset::new(2));
    assert_eq!(follower.high_watermark(), Offset::new(2));
}

#[test]
fn an_answer_of_another_epoch_or_position_is_discarded() {
    let mut follower = follower();
    let mut earlier = answer(&mut follower, 9, diverging(3, 4));
    earlier.position.epoch = LeaderEpoch(4);
    assert_eq!(follower.answered(&earlier, log(9), Offset::ZERO), FollowerStep::Discard);
    let behind = answer(&mut follower, 6, FetchOutcome::Records);
    assert_eq!(follower.answered(&behind, log(9), Offset::ZERO), FollowerStep::Discard);
    assert_eq!(follower.high_watermark(), Offset::new(4));
}

#[test]
fn a_follower_fetches_with_the_epoch_of_its_last_record() {
    let mut follower = follower();
    assert_eq!(follower.first_step(), None);
    let position = follower.position(log(6), Offset::new(5), Some(Offset::new(3)));
    assert_eq!(position.epoch, LeaderEpoch(5));
    assert_eq!(position.last_epoch, LeaderEpoch(3), "epoch 4 has no record below 6");
    assert_eq!((position.offset, position.flushed), (Offset::new(6), Offset::new(5)));
}

#[test]
fn committed_records_are_kept_and_the_leader_is_told() {
    let floor = Offset::new(7);
    for (outcome, from) in [
        (diverging(4, 6), 6),
        (diverging(3, 8), 6),
        (diverging(2, 0), 0),
        (FetchOutcome::OutOfRange, 2),
    ] {
        let mut follower = follower();
        let position = follower.position(log(9), Offset::new(9), Some(floor));
        assert!(!position.floor.is_kept);
        let mut answer = answer(&mut follower, 9, outcome);
        answer.position = position;
        let step = follower.answered(&answer, log(9), Offset::ZERO);
        assert_eq!(step, FollowerStep::Keep(Offset::new(from)), "{outcome:?}");
        let next = follower.position(log(9), Offset::new(9), None).floor;
        assert_eq!((next.offset, next.is_kept), (floor, true), "the floor of the epoch stays");
    }
}

#[test]
fn committed_records_are_truncated_without_the_rule_that_a_floor_holds() {
    let rules = Rules::ALL.without(Rule::FloorHolds);
    let mut follower = Follower::new(rules, BrokerId(1), LeaderEpoch(5), Offset::new(4));
    let position = follower.position(log(9), Offset::new(9), Some(Offset::new(7)));
    let mut answer = answer(&mut follower, 9, diverging(4, 6));
    answer.position = position;
    let step = follower.answered(&answer, log(9), Offset::ZERO);
    assert_eq!(step, FollowerStep::Truncate(Offset::new(6)));
}

#[test]
fn records_from_the_floor_on_and_those_of_a_log_that_ends_below_it_are_not_kept() {
    for (floor, to) in [(6, 7), (7, 7), (10, 5)] {
        let mut follower = follower();
        let position = follower.position(log(9), Offset::new(9), Some(Offset::new(floor)));
        let mut answer = answer(&mut follower, 9, diverging(4, to));
        answer.position = position;
        let step = follower.answered(&answer, log(9), Offset::ZERO);
        assert_eq!(step, FollowerStep::Truncate(Offset::new(to)), "{floor}");
    }
}
