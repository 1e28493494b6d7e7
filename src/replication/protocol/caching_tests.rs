//! A leader whose records count before they are flushed, and the end of that (rule R14).

use std::time::Duration;

use super::leader_tests::{EPOCH, START, position, replica, state};
use super::{
    CountedFetch, EpochHistory, InSyncChange, InSyncState, Leader, LeaderStart, Rule, Rules,
};
use crate::metadata::{Caching, InSyncOutcome};
use crate::storage::EpochStart;
use crate::types::{BrokerId, LeaderEpoch, Offset};

const LOG: [EpochStart; 2] = [
    EpochStart { epoch: LeaderEpoch(3), start: Offset::ZERO },
    EpochStart { epoch: LeaderEpoch(4), start: Offset::new(6) },
];

/// The end of the leader's log.
const END: i64 = 9;

/// Broker 1 leads with broker 2 in sync. Its log ended at 6 when the epoch began; now it ends at 9,
/// and is flushed up to 4.
fn leader(rules: Rules, in_sync: InSyncState, caching: Caching) -> Leader {
    let start = LeaderStart {
        broker: BrokerId(1),
        epoch: EPOCH,
        log_end: Offset::new(6),
        high_watermark: Offset::ZERO,
        in_sync,
        caching,
        silent_until: Duration::ZERO,
    };
    let mut leader = Leader::new(rules, start, START);
    leader.flushed(Offset::new(4));
    leader.appended(Offset::new(END));
    leader
}

/// Counts a fetch of broker 2, with a log that ends at `end` and is flushed up to `flushed`.
fn fetch(leader: &mut Leader, end: i64, flushed: i64) -> Option<InSyncChange> {
    let log = EpochHistory::new(&LOG, Offset::new(END));
    match leader.fetched(replica(2), &position(end, flushed), log, START) {
        CountedFetch::Counted { change, .. } => change,
        other => panic!("a fetch was not counted: {other:?}"),
    }
}

fn watermark(leader: &Leader) -> i64 {
    leader.high_watermark().get()
}

/// The setting was on while all of both logs was appended, and is off now.
fn ending(rules: Rules) -> Leader {
    let mut leader = leader(rules, state(&[1, 2], 7), Caching::On);
    fetch(&mut leader, END, 3);
    assert_eq!(watermark(&leader), END);
    leader.set_caching(Caching::Ending, 7);
    leader
}

#[test]
fn only_a_recorded_caching_lets_records_count_before_they_are_flushed() {
    for (caching, counted) in [(Caching::On, END), (Caching::Ending, 3), (Caching::Off, 3)] {
        let mut leader = leader(Rules::ALL, state(&[1, 2], 7), caching);
        fetch(&mut leader, END, 3);
        assert_eq!(watermark(&leader), counted, "{caching:?}");
    }
}

#[test]
fn once_caching_is_switched_off_a_record_counts_when_both_have_flushed_it() {
    let mut leader = ending(Rules::ALL);
    leader.appended(Offset::new(END + 2));
    let log = EpochHistory::new(&LOG, Offset::new(END + 2));
    leader.fetched(replica(2), &position(END + 2, END + 1), log, START);
    assert_eq!(watermark(&leader), END, "this leader has flushed less than it has shown");
    leader.flushed(Offset::new(END + 2));
    assert_eq!(watermark(&leader), END + 1);
}

#[test]
fn caching_ends_once_all_in_sync_replicas_have_flushed_what_counted_before() {
    let mut leader = ending(Rules::ALL);
    assert_eq!(leader.end_caching(START), None);
    assert_eq!(fetch(&mut leader, END, END), None, "the leader has not flushed all");
    leader.flushed(Offset::new(END));
    assert_eq!(fetch(&mut leader, END, END - 1), None, "the follower has not flushed all");
    let change = fetch(&mut leader, END, END).unwrap();
    assert!(change.ends_caching);
    assert_eq!(change.members, state(&[1, 2], 7).members);
    assert_eq!(leader.end_caching(START), None, "it is under way");
    leader.change_answered(change.id, InSyncOutcome::Refused);
    assert_eq!(leader.end_caching(START), None, "it is asked for again after a pause");
    let change = leader.end_caching(START + Duration::from_secs(1)).unwrap();
    leader.change_answered(change.id, InSyncOutcome::Applied { version: 8 });
    assert_eq!(leader.end_caching(START), None, "what the store says now has not been read");
    leader.set_caching(Caching::Off, 8);
    assert_eq!(leader.end_caching(START), None);
    assert_eq!(leader.caching(), Caching::Off);

    let mut leader = ending(Rules::ALL.without(Rule::CachingEndsFlushed));
    assert!(leader.end_caching(START).is_some(), "records that were shown may not be flushed");
}

#[test]
fn a_new_leader_ends_no_caching_below_the_start_of_its_epoch() {
    let mut begun = leader(Rules::ALL, state(&[1, 2], 7), Caching::Ending);
    assert_eq!(fetch(&mut begun, END, 5), None);
    assert_eq!(watermark(&begun), 4, "an earlier leader may have shown more than it has flushed");
    begun.flushed(Offset::new(6));
    assert_eq!(fetch(&mut begun, END, 5), None);
    assert!(fetch(&mut begun, END, 6).unwrap().ends_caching);

    let rules = Rules::ALL.without(Rule::CachingEndsInEpoch);
    let mut begun = leader(rules, state(&[1, 2], 7), Caching::Ending);
    assert!(fetch(&mut begun, END, 5).unwrap().ends_caching);
}

#[test]
fn caching_does_not_end_while_a_replica_outside_the_set_may_be_elected() {
    for (rules, ends) in
        [(Rules::ALL, false), (Rules::ALL.without(Rule::CachingEndsTogether), true)]
    {
        let in_sync = InSyncState { has_eligible: true, ..state(&[1, 2], 7) };
        let mut leader = leader(rules, in_sync, Caching::Ending);
        leader.flushed(Offset::new(END));
        assert_eq!(fetch(&mut leader, END, END).is_some(), ends);
        assert_eq!(watermark(&leader), END);
    }
    let in_sync = InSyncState { has_eligible: true, ..state(&[1, 2], 7) };
    let mut leader = leader(Rules::ALL, in_sync, Caching::Ending);
    leader.flushed(Offset::new(END));
    leader.state_read(state(&[1, 2], 8), false);
    leader.set_caching(Caching::Ending, 8);
    assert!(fetch(&mut leader, END, END).unwrap().ends_caching);
}

#[test]
fn a_leader_that_is_silent_ends_no_caching() {
    let second = Duration::from_secs(1);
    let start = LeaderStart {
        broker: BrokerId(1),
        epoch: EPOCH,
        log_end: Offset::new(6),
        high_watermark: Offset::ZERO,
        in_sync: state(&[1], 7),
        caching: Caching::Ending,
        silent_until: START + second,
    };
    let start =
        LeaderStart { in_sync: InSyncState { minimum: 1, ..start.in_sync.clone() }, ..start };
    let mut leader = Leader::new(Rules::ALL, start, START);
    leader.flushed(Offset::new(6));
    assert_eq!(leader.end_caching(START), None, "an earlier leader may answer yet");
    assert!(leader.end_caching(START + second).is_some());
}

#[test]
fn a_replica_joins_once_it_has_flushed_what_was_promised() {
    let joins = |rules: Rules, caching: Caching, flushed: i64| {
        let in_sync = InSyncState { minimum: 1, ..state(&[1], 7) };
        let mut leader = leader(rules, in_sync, Caching::Off);
        leader.flushed(Offset::new(8));
        assert_eq!(watermark(&leader), 8, "shown once it was flushed");
        leader.set_caching(caching, 7);
        fetch(&mut leader, END, flushed).is_some()
    };
    assert!(!joins(Rules::ALL, Caching::On, 7));
    assert!(joins(Rules::ALL, Caching::On, 8), "only what was promised has to be flushed");
    assert!(!joins(Rules::ALL, Caching::Off, 7));
    assert!(joins(Rules::ALL.without(Rule::JoinWithPromised), Caching::On, 0));
}

#[test]
fn no_record_counts_unflushed_while_the_store_may_say_that_caching_has_ended() {
    let changed = |rules| {
        let mut leader = ending(rules);
        leader.flushed(Offset::new(END));
        let change = fetch(&mut leader, END, END).unwrap();
        // The topic caches again, but the state that says so is older than the change.
        leader.set_caching(Caching::On, 7);
        leader.appended(Offset::new(END + 1));
        let log = EpochHistory::new(&LOG, Offset::new(END + 1));
        leader.fetched(replica(2), &position(END + 1, END), log, START);
        (leader, change)
    };
    let (mut leader, change) = changed(Rules::ALL);
    assert_eq!(watermark(&leader), END, "the change may be in force");
    leader.change_answered(change.id, InSyncOutcome::Unknown);
    assert_eq!(watermark(&leader), END, "the change may be in force");
    leader.change_answered(change.id, InSyncOutcome::Applied { version: 8 });
    assert_eq!(watermark(&leader), END, "the change is in force");
    assert!(leader.set_caching(Caching::On, 9));
    assert_eq!(watermark(&leader), END + 1, "the controller has recorded it again");

    let (leader, _) =
        changed(Rules::ALL.without(Rule::CachingEndsFirst).without(Rule::CachingRecorded));
    assert_eq!(watermark(&leader), END + 1);
}
