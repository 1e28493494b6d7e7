//! Tests of a follower's log: fetched batches stay as their leader has them.

use crate::record::{Batch, HeaderMut};
use crate::storage::world_tests::{
    NOW, World, append, append_batch, at, batch, bytes_of, crashed, stamp, stamped, values,
};
use crate::storage::{
    AppendAt, CleanupPolicy, FetchedError, Log, ReadLimit, StartPoint, StorageError,
};
use crate::types::{LeaderEpoch, Offset};

/// The epoch in which followers fetch.
const FETCHED_IN: LeaderEpoch = LeaderEpoch(5);

/// An empty log of a follower.
fn follower(world: &World) -> Log {
    let log = world.open(StartPoint::New);
    log.epochs().change().follow(FETCHED_IN);
    log
}

/// All batches of a log from an offset on.
fn fetch(log: &Log, from: i64) -> Vec<u8> {
    let below = log.log_end_offset();
    let limit =
        ReadLimit { max_bytes: 1 << 20, below, at_least_one_batch: true, keeps_emptied: true };
    let mut bytes = Vec::new();
    let mut next = Offset::new(from);
    while let Some(range) = log.read(next, limit).unwrap() {
        let part = bytes_of(&range);
        let batches = crate::record::Batches::new(&part);
        next = batches.map(|batch| batch.unwrap().next_offset()).last().unwrap();
        bytes.extend(part);
    }
    bytes
}

/// A batch of one record, as a leader of this epoch has it at this offset.
fn batch_at(offset: i64, epoch: i32) -> Vec<u8> {
    let mut bytes = batch(&["x"]);
    let mut header = HeaderMut::of_batch(&mut bytes).unwrap();
    header.set_base_offset(Offset::new(offset));
    header.set_leader_epoch(LeaderEpoch(epoch));
    bytes
}

#[test]
fn fetched_batches_stay_byte_for_byte_with_their_epochs_and_producers() {
    let (led, followed) = (World::with_segments_of(300), World::with_segments_of(300));
    let leader = led.start();
    append(&leader, &["a", "b"]);
    append_batch(&leader, stamped(&["c"], Some(stamp(0))), at()).unwrap();
    leader.start_epoch(FETCHED_IN).unwrap();
    let fetched_in = AppendAt { epoch: FETCHED_IN, now: NOW };
    let mut last = stamped(&["d", "e"], Some(stamp(1)));
    leader.append(&mut [&mut last], fetched_in).unwrap().remove(0).unwrap();

    let log = follower(&followed);
    let records = fetch(&leader, 0);
    assert_eq!(log.append_fetched(&records, FETCHED_IN).unwrap(), Offset::new(5));
    log.flush().unwrap();
    assert_eq!(fetch(&log, 0), records);
    assert_eq!(log.epochs().entries().unwrap(), leader.epochs().entries().unwrap());
    assert_eq!(
        log.tail().active_producers().unwrap().len(),
        leader.tail().active_producers().unwrap().len(),
        "a retry after a failover must be recognized"
    );
    let recovered = followed.open(crashed(5, false));
    assert_eq!(recovered.epochs().entries().unwrap(), leader.epochs().entries().unwrap());
    assert_eq!(values(&recovered, 0, 5).len(), 5);
}

#[test]
fn fetched_batches_are_spread_over_segments() {
    let (led, followed) = (World::new(), World::with_segments_of(200));
    let leader = led.start();
    for value in ["a", "b", "c", "d", "e"] {
        append(&leader, &[value]);
    }
    let log = follower(&followed);
    log.append_fetched(&fetch(&leader, 0), FETCHED_IN).unwrap();
    assert_eq!(followed.segments(), [0, 2, 4]);
    assert_eq!(fetch(&log, 0), fetch(&leader, 0));
}

#[test]
fn a_damaged_batch_is_refused_and_nothing_of_the_answer_is_appended() {
    let world = World::new();
    let log = follower(&world);
    let mut records = [batch_at(0, 3), batch_at(1, 3)].concat();
    let size = records.len() / 2;
    *records.last_mut().unwrap() ^= 1;
    let refused = log.append_fetched(&records, FETCHED_IN);
    assert!(
        matches!(refused, Err(FetchedError::Damaged { position, .. }) if position == size),
        "{refused:?}"
    );
    assert_eq!(log.log_end_offset(), Offset::ZERO);
    assert_eq!(log.epochs().entries().unwrap(), []);

    let cut = [batch_at(0, 3), batch_at(1, 3)[..size - 1].to_vec()].concat();
    let refused = log.append_fetched(&cut, FETCHED_IN);
    assert!(
        matches!(refused, Err(FetchedError::CutOff { position }) if position == size),
        "{refused:?}"
    );
}

#[test]
fn a_batch_that_does_not_continue_the_log_is_refused() {
    let world = World::new();
    let log = follower(&world);
    log.append_fetched(&batch_at(0, 3), FETCHED_IN).unwrap();
    for offset in [0, 2] {
        let refused = log.append_fetched(&batch_at(offset, 3), FETCHED_IN);
        assert!(matches!(refused, Err(FetchedError::Offset { .. })), "{offset}: {refused:?}");
    }
    assert_eq!(log.log_end_offset(), Offset::new(1));
}

#[test]
fn an_epoch_neither_falls_nor_exceeds_the_one_fetched_in() {
    let world = World::new();
    let log = follower(&world);
    log.append_fetched(&batch_at(0, 3), FETCHED_IN).unwrap();
    for epoch in [-1, 2, 6] {
        let refused = log.append_fetched(&batch_at(1, epoch), FETCHED_IN);
        assert!(matches!(refused, Err(FetchedError::Epoch { .. })), "{epoch}: {refused:?}");
    }
    log.append_fetched(&batch_at(1, 5), FETCHED_IN).unwrap();
}

#[test]
fn gaps_are_taken_in_a_compacted_topic_only_and_are_no_damage_after_a_crash() {
    let mut world = World::new();
    world.config.cleanup_policy = CleanupPolicy { compact: true, delete: false };
    let log = follower(&world);
    log.append_fetched(&[batch_at(2, 3), batch_at(7, 3)].concat(), FETCHED_IN).unwrap();
    log.append_fetched(&batch_at(8, 3), FETCHED_IN).unwrap();
    log.flush().unwrap();
    // The topic may have been changed since, and its log keeps its gaps.
    world.config.cleanup_policy = CleanupPolicy { compact: false, delete: true };
    let recovered = world.open(crashed(9, false));
    assert_eq!(recovered.checks().damages(), []);
    assert_eq!(fetch(&recovered, 0).len(), batch_at(2, 3).len() * 3);
}

#[test]
fn gaps_that_the_leader_explains_are_taken_below_their_end_and_are_no_damage_after_a_crash() {
    let world = World::new();
    let log = follower(&world);
    let refused = log.append_fetched(&batch_at(2, 3), FETCHED_IN);
    assert!(matches!(&refused, Err(error) if error.is_gap()), "{refused:?}");

    log.expect_gaps(Offset::new(7)).unwrap();
    log.append_fetched(&[batch_at(2, 3), batch_at(7, 3)].concat(), FETCHED_IN).unwrap();
    let refused = log.append_fetched(&batch_at(9, 3), FETCHED_IN);
    assert!(matches!(&refused, Err(error) if error.is_gap()), "{refused:?}");
    let refused = log.append_fetched(&batch_at(7, 3), FETCHED_IN);
    assert!(matches!(&refused, Err(error) if !error.is_gap()), "{refused:?}");
    log.flush().unwrap();
    let recovered = world.open(crashed(8, false));
    assert_eq!(recovered.checks().damages(), []);
    assert_eq!(fetch(&recovered, 0).len(), batch_at(2, 3).len() * 2);
}

#[test]
fn a_truncation_within_a_gap_ends_the_log_before_the_gap() {
    let mut world = World::with_segments_of(100);
    world.config.cleanup_policy = CleanupPolicy { compact: true, delete: false };
    let log = follower(&world);
    let far = 3_000_000_000;
    log.append_fetched(&[batch_at(0, 3), batch_at(far, 3)].concat(), FETCHED_IN).unwrap();
    log.flush().unwrap();
    assert_eq!(world.segments(), [0, far], "too far for the index of one segment");
    assert_eq!(log.truncator().cut(Offset::new(4)).unwrap(), Offset::new(1));
    log.append_fetched(&batch_at(1, 5), FETCHED_IN).unwrap();
    log.flush().unwrap();
    assert_eq!(values(&world.open(crashed(2, false)), 0, 2).len(), 2);
}

#[test]
fn a_log_takes_fetched_batches_only_in_the_epoch_in_which_it_follows() {
    let world = World::new();
    let log = follower(&world);
    log.epochs().end(FETCHED_IN);
    let refused = log.append_fetched(&batch_at(0, 3), FETCHED_IN);
    assert!(
        matches!(refused, Err(FetchedError::Storage(StorageError::EpochMismatch { .. }))),
        "{refused:?}"
    );
}

#[test]
fn a_log_that_starts_over_is_empty_at_the_new_start_and_goes_on_there() {
    let world = World::with_segments_of(200);
    let log = follower(&world);
    for offset in 0..5 {
        log.append_fetched(&batch_at(offset, 3), FETCHED_IN).unwrap();
    }
    log.flush().unwrap();
    log.truncator().start_over(FETCHED_IN, Offset::new(70)).unwrap();
    assert_eq!(world.segments(), [] as [i64; 0]);
    assert_eq!(log.epochs().entries().unwrap(), []);
    assert_eq!((log.log_start_offset().get(), log.log_end_offset().get()), (70, 70));
    log.append_fetched(&batch_at(70, 4), FETCHED_IN).unwrap();
    assert_eq!(log.flush().unwrap(), Offset::new(71));
    assert_eq!(world.segments(), [70]);
    let bytes = fetch(&log, 70);
    assert_eq!(Batch::parse(&bytes).unwrap().leader_epoch(), LeaderEpoch(4));
}

#[test]
fn a_log_may_start_over_below_its_start() {
    let world = World::new();
    let log = follower(&world);
    log.append_fetched(&batch_at(0, 3), FETCHED_IN).unwrap();
    log.truncator().start_over(FETCHED_IN, Offset::new(70)).unwrap();
    log.append_fetched(&batch_at(70, 3), FETCHED_IN).unwrap();
    log.flush().unwrap();
    log.truncator().start_over(FETCHED_IN, Offset::new(30)).unwrap();
    assert_eq!((log.log_start_offset().get(), log.log_end_offset().get()), (30, 30));
    log.append_fetched(&batch_at(30, 4), FETCHED_IN).unwrap();
    assert_eq!(log.flush().unwrap(), Offset::new(31));
}
