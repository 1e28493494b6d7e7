//! Records that are committed: before the in-sync set falls below its minimum, and as floors.

use std::time::Duration;

use super::truncation_faults_tests::{Pair, RECORDS, Reason};
use crate::metadata::{Caching, InSyncOutcome};
use crate::replication::{Acks, FollowerError, PartitionError, Rule, Rules, Target};
use crate::types::{LeaderEpoch, Offset};

#[test]
fn committed_records_stay_so_when_too_few_replicas_are_in_sync() {
    let pair = Pair::new();
    let (leader, epoch) = (&pair.leader.partition, LeaderEpoch(2));
    let begin = pair.leader.log().unwrap().log_end_offset().get();
    pair.lead_alone(epoch, 1);
    pair.append();
    let end = Offset::new(begin + RECORDS);
    leader.flushed(end);
    assert_eq!(leader.high_watermark(), end);
    pair.lead_alone(epoch, 2);
    assert!(matches!(leader.check_minimum(), Err(PartitionError::NotEnoughReplicas(_))));
    let target = Target { epoch, next_offset: end, acks: Acks::All };
    assert!(leader.may_acknowledge(target).unwrap());
    assert!(leader.is_committed(epoch, end).unwrap());
    assert!(!leader.is_committed(epoch, Offset::new(end.get() + 1)).unwrap());
    let ended = leader.is_committed(LeaderEpoch(1), end);
    assert!(matches!(ended, Err(PartitionError::EpochEnded { .. })));
}

#[test]
fn a_change_is_awaited_until_its_outcome_is_known_or_its_partition_has_stopped() {
    for stops in [false, true] {
        let pair = Pair::new();
        let (now, lag_max) = (Duration::from_hours(1_000_000), Duration::from_secs(1));
        let change = pair.leader.partition.remove_lagging(now, lag_max).unwrap();
        change.answer(InSyncOutcome::Unknown);
        assert!(change.is_awaited());
        if stops {
            pair.leader.partition.stop("a test");
        } else {
            change.answer(InSyncOutcome::Refused);
        }
        assert!(!change.is_awaited(), "stops: {stops}");
    }
}

#[test]
fn a_former_leader_acknowledges_nothing_that_it_has_removed() {
    for removes in [false, true] {
        let pair = Pair::new();
        let target = pair.follower_commits(LeaderEpoch(2));
        assert!(pair.follower().may_acknowledge(target).unwrap());
        // An operator has let the other broker lead without the record, which voids the floor.
        assert_eq!(pair.floor(3, Caching::Off, 3), Offset::ZERO);
        assert!(pair.follower().may_acknowledge(target).unwrap(), "it was committed");
        if removes {
            pair.remove(Reason::Diverging).unwrap();
        }
        let acknowledged = pair.follower().may_acknowledge(target);
        assert_eq!(acknowledged.is_ok(), !removes, "{acknowledged:?}");
        pair.leader.stop();
        pair.follower.stop();
    }
}

#[test]
fn a_follower_that_keeps_committed_records_says_so_until_the_next_epoch() {
    let pair = Pair::new();
    pair.record_watermark(Offset::new(RECORDS));
    assert_eq!(pair.floor(2, Caching::Off, -1), Offset::new(RECORDS));
    assert!(!pair.follower().keeps_records());
    let kept = pair.remove(Reason::Diverging).unwrap_err();
    assert!(matches!(kept, FollowerError::BelowFloor { .. }), "{kept}");
    assert!(pair.follower().keeps_records());
    assert_eq!(pair.follower().log().unwrap().log_end_offset(), Offset::new(RECORDS));
    pair.floor(3, Caching::Off, -1);
    assert!(!pair.follower().keeps_records());
    pair.leader.stop();
    pair.follower.stop();
}

#[test]
fn given_up_records_give_a_floor_without_the_rule_that_a_loss_ends_floors() {
    let (end, epoch) = (Offset::new(RECORDS), 3);
    for (rules, floor) in
        [(Rules::ALL, Offset::ZERO), (Rules::ALL.without(Rule::LossEndsFloors), end)]
    {
        let mut pair = Pair::new();
        pair.follower.follow_rules(rules);
        pair.record_watermark(end);
        // An operator lets the other broker lead in epoch 3, and the log has records of epoch 0.
        assert_eq!(pair.floor(epoch, Caching::Off, epoch), floor);
        pair.leader.stop();
        pair.follower.stop();
    }
}

#[test]
fn a_partition_that_stops_acknowledges_what_it_has_committed() {
    let pair = Pair::new();
    let target = pair.follower_commits(LeaderEpoch(2));
    pair.follower().stop("its topic was deleted");
    assert!(pair.follower().may_acknowledge(target).unwrap());
    let beyond = Target { next_offset: Offset::new(target.next_offset.get() + 1), ..target };
    let refused = pair.follower().may_acknowledge(beyond);
    assert!(matches!(refused, Err(PartitionError::Stopped { .. })), "{refused:?}");
    pair.leader.stop();
    pair.follower.stop();
}

#[test]
fn floors_are_void_while_the_state_says_that_the_partition_caches() {
    for (rules, is_void) in
        [(Rules::ALL, true), (Rules::ALL.without(Rule::CachingVoidsFloors), false)]
    {
        let mut pair = Pair::new();
        pair.follower.follow_rules(rules);
        let end = Offset::new(RECORDS);
        pair.record_watermark(end);
        assert_eq!(pair.floor(2, Caching::Off, -1), end);
        let ending = pair.floor(3, Caching::Ending, -1);
        assert_eq!(ending == Offset::ZERO, is_void, "other disks may have lost these records");
        assert_eq!(pair.floor(4, Caching::Off, 0), end, "the records are of epoch 0");
        let before = pair.floor(5, Caching::Off, 1);
        assert_eq!(before, Offset::ZERO, "caching ended in an epoch later than all its records");
        pair.leader.stop();
        pair.follower.stop();
    }
}
