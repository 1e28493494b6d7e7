//! Tests of repairs: the damage is gone, and nothing else has changed.

use std::path::Path;
use std::sync::Arc;

use super::world_tests::{DIR, Follower, LETTERS, offset, size};
use crate::config::ByteSize;
use crate::record::HeaderMut;
use crate::storage::world_tests::{NOW, World, append, append_at, batch, file, try_values, values};
use crate::storage::{AppendAt, DamagedSegment, OffsetUnit, Repair, RepairError, StorageError};
use crate::types::{LeaderEpoch, Offset};

/// Repairs the segment that begins at `base`, and expects the leader's bytes.
fn is_repaired(follower: &Follower, base: i64, count: usize) {
    let log = follower.open();
    let damaged = Repair::needed(&log).unwrap();
    assert_eq!(damaged.iter().map(|segment| segment.base.get()).collect::<Vec<_>>(), [base]);
    assert!(follower.repair(&log, base, count));
    assert_eq!(log.checks().damages(), []);
    assert_eq!(follower.world.bytes(&file(base, "log")), follower.led[&base]);
    follower.check_letters(&log);
    log.start_epoch(LeaderEpoch(9)).unwrap();
    let later = AppendAt { epoch: LeaderEpoch(9), now: NOW };
    assert_eq!(append_at(&log, &["k"], later).unwrap().base_offset.get(), 10);
}

#[test]
fn a_damaged_batch_anywhere_in_a_closed_segment_is_replaced_by_the_leaders() {
    for base in [0, 3, 6] {
        for number in 0..3 {
            // The records, and the base offset, which the checksum does not cover.
            for position in [65, 7] {
                let follower = Follower::of_letters();
                follower.rot_at(base, number * size() + position);
                is_repaired(&follower, base, 1);
            }
        }
    }
}

#[test]
fn all_stretches_of_a_segment_are_repaired_together() {
    for count in [1, 2, 10] {
        let follower = Follower::of_letters();
        follower.rot(3, 0);
        follower.rot(3, 2);
        let log = follower.open();
        let stretches = vec![offset(3)..offset(4), offset(5)..offset(6)];
        assert_eq!(Repair::needed(&log).unwrap(), [DamagedSegment { base: offset(3), stretches }]);
        is_repaired(&follower, 3, count);
    }
}

#[test]
fn a_segment_without_a_sound_batch_is_repaired() {
    let follower = Follower::of_letters();
    follower.rot_all(3, &[0, 1, 2]);
    is_repaired(&follower, 3, 2);
}

#[test]
fn damage_in_the_segment_that_a_log_appends_to_is_repaired_once_the_segment_is_closed() {
    let follower = Follower::of_one_segment();
    follower.rot_all(0, &[2, 5]);
    let log = follower.open();
    assert_eq!(Repair::needed(&log).unwrap(), [], "it is not closed");
    let epoch = LeaderEpoch(9);
    log.epochs().change().follow(epoch);
    let other = log.tail().roll_damaged(LeaderEpoch(8));
    assert!(matches!(other, Err(StorageError::EpochMismatch { .. })), "{other:?}");
    assert!(log.tail().roll_damaged(epoch).unwrap());
    log.flush().unwrap();
    log.checkpoints().advance().unwrap();
    assert!(!log.tail().roll_damaged(epoch).unwrap(), "the new segment is empty");
    assert_eq!(follower.world.segments(), [0, 10]);
    assert!(follower.repair(&log, 0, 2));
    assert_eq!(log.checks().damages(), []);
    assert_eq!(follower.world.bytes(&file(0, "log")), follower.led[&0]);
    follower.check_letters(&log);
    log.start_epoch(LeaderEpoch(10)).unwrap();
    let later = AppendAt { epoch: LeaderEpoch(10), now: NOW };
    assert_eq!(append_at(&log, &["k"], later).unwrap().base_offset.get(), 10);
    assert!(!log.tail().roll_damaged(LeaderEpoch(10)).unwrap(), "it has no damage");
}

#[test]
fn a_log_goes_on_in_a_sound_segment_and_behind_damage_that_is_skipped() {
    let follower = Follower::of_one_segment();
    let epoch = LeaderEpoch(9);
    let log = follower.open();
    log.epochs().change().follow(epoch);
    assert!(!log.tail().roll_damaged(epoch).unwrap());
    drop(log);
    follower.rot(0, 2);
    let log = follower.open();
    log.epochs().change().follow(epoch);
    let skipped = [offset(2)..offset(3)];
    log.context().skips.add(&follower.world.disk, Path::new(DIR), skipped).unwrap();
    assert!(!log.tail().roll_damaged(epoch).unwrap());
}

#[test]
fn a_lost_first_segment_is_fetched_again() {
    let follower = Follower::of_letters();
    follower.lose(0);
    is_repaired(&follower, 0, 2);
}

#[test]
fn several_lost_first_segments_become_one() {
    let follower = Follower::of_letters();
    follower.lose(0);
    follower.lose(3);
    let log = follower.open();
    assert!(follower.repair(&log, 0, 10));
    follower.check_letters(&log);
    assert_eq!(follower.world.segments(), [0, 6, 9]);
}

#[test]
fn the_batches_of_a_lost_segment_between_others_are_added_to_the_one_before() {
    for number in 0..4 {
        let follower = Follower::of_letters();
        follower.lose(3);
        let log = Arc::new(follower.world.open(follower.starts()[number]));
        let stretches = vec![offset(3)..offset(6)];
        let expected = DamagedSegment { base: Offset::ZERO, stretches };
        assert_eq!(Repair::needed(&log).unwrap(), [expected]);
        assert!(follower.repair(&log, 0, 1));
        follower.check_letters(&log);
        assert_eq!(follower.world.segments(), [0, 6, 9]);
    }
}

#[test]
fn bytes_between_batches_that_follow_one_another_are_removed() {
    let follower = Follower::of_letters();
    let path = file(3, "log");
    let mut bytes = follower.led[&3].clone();
    let at = usize::try_from(size()).unwrap();
    bytes.splice(at..at, [7; 30]);
    follower.world.overwrite(&path, Some(0), &bytes);
    is_repaired(&follower, 3, 1);
}

#[test]
fn the_active_segment_and_sound_segments_are_not_repaired() {
    let follower = Follower::of_letters();
    follower.rot(3, 1);
    let log = follower.open();
    assert!(Repair::begin(&log, offset(9)).unwrap().is_none(), "active");
    assert!(Repair::begin(&log, offset(0)).unwrap().is_none(), "sound");
    assert!(Repair::begin(&log, offset(4)).unwrap().is_none(), "no segment begins there");
    let first = Repair::begin(&log, offset(3)).unwrap().unwrap();
    assert!(Repair::begin(&log, offset(3)).unwrap().is_none(), "under repair");
    drop(first);
    assert!(follower.repair(&log, 3, 1));
    assert!(Repair::begin(&log, offset(3)).unwrap().is_none(), "repaired");
}

#[test]
fn damage_that_nobody_has_met_yet_is_repaired_too() {
    let follower = Follower::of_letters();
    follower.rot(3, 1);
    let log = Arc::new(follower.world.open(follower.starts()[0]));
    assert_eq!(log.checks().damages(), []);
    assert!(follower.repair(&log, 3, 1));
    follower.check_letters(&log);
}

/// The batch at an offset, with its header changed by `change`.
fn changed(follower: &Follower, from: i64, change: impl FnOnce(&mut HeaderMut<'_>)) -> Vec<u8> {
    let mut bytes = follower.fetch(offset(from), 1);
    change(&mut HeaderMut::of_batch(&mut bytes).unwrap());
    bytes
}

#[test]
fn wrong_batches_are_refused_and_change_nothing() {
    let follower = Follower::of_letters();
    follower.rot(3, 0);
    follower.rot(3, 1);
    let log = follower.open();
    let damages = log.checks().damages();
    let before = follower.world.bytes(&file(3, "log"));
    let mut repair = Repair::begin(&log, offset(3)).unwrap().unwrap();
    assert_eq!(repair.wants().unwrap(), Some(offset(3)..offset(5)));

    let good = follower.fetch(offset(3), 1);
    let mut rotten = [good.clone(), follower.fetch(offset(4), 1)].concat();
    *rotten.last_mut().unwrap() ^= 1;
    let refused = repair.take(&rotten);
    assert!(matches!(refused, Err(RepairError::Damaged { .. })), "{refused:?}");
    let cut = &rotten[..rotten.len() - 1];
    let refused = repair.take(cut);
    assert!(matches!(refused, Err(RepairError::CutOff { .. })), "{refused:?}");
    for from in [4, 5, 9] {
        let refused = repair.take(&follower.fetch(offset(from), 1));
        assert!(matches!(refused, Err(RepairError::Gap(_))), "{from}: {refused:?}");
    }
    let refused = repair.take(&follower.fetch(offset(2), 3));
    assert!(matches!(refused, Err(RepairError::Overlap { .. })), "{refused:?}");
    for epoch in [-1, 2, 4] {
        let wrong = changed(&follower, 3, |header| header.set_leader_epoch(LeaderEpoch(epoch)));
        let refused = repair.take(&wrong);
        assert!(matches!(refused, Err(RepairError::Epoch { .. })), "{epoch}: {refused:?}");
    }
    let mut too_large = batch(&["x", "y", "z"]);
    let mut header = HeaderMut::of_batch(&mut too_large).unwrap();
    header.set_base_offset(offset(3));
    header.set_leader_epoch(LeaderEpoch(3));
    let refused = repair.take(&too_large);
    assert!(matches!(refused, Err(RepairError::Overlap { .. })), "{refused:?}");

    assert_eq!(repair.wants().unwrap(), Some(offset(3)..offset(5)), "nothing was taken");
    assert!(!repair.finish(None).unwrap(), "offsets are missing");
    assert_eq!(log.checks().damages(), damages);
    assert_eq!(follower.world.bytes(&file(3, "log")), before);
    assert!(try_values(&log, 3, 5).is_err());
    let names = follower.world.names(DIR);
    assert!(!names.iter().any(|name| name.contains(".cleaned")), "{names:?}");
    is_repaired(&follower, 3, 1);
}

#[test]
fn a_good_batch_after_a_refused_one_is_taken() {
    let follower = Follower::of_letters();
    follower.rot(3, 0);
    let log = follower.open();
    let mut repair = Repair::begin(&log, offset(3)).unwrap().unwrap();
    repair.take(&follower.fetch(offset(4), 1)).unwrap_err();
    repair.take(&[]).unwrap();
    repair.take(&follower.fetch(offset(3), 10)).unwrap();
    assert_eq!(repair.wants().unwrap(), None);
    assert!(repair.finish(None).unwrap());
    follower.check_letters(&log);
}

#[test]
fn batches_have_the_epochs_that_the_history_states() {
    let mut world = World::with_segments_of(size() * 3);
    world.config.index_interval = ByteSize(1);
    let log = world.start();
    for (number, letter) in (4..).zip(LETTERS) {
        let epoch = LeaderEpoch(number);
        log.start_epoch(epoch).unwrap();
        append_at(&log, &[letter], AppendAt { epoch, now: NOW }).unwrap();
    }
    let follower = Follower::of(world, &log);
    follower.lose(3);
    let log = follower.open();
    let history = log.epochs().entries().unwrap();
    let mut repair = Repair::begin(&log, Offset::ZERO).unwrap().unwrap();
    for epoch in [6, 8] {
        let wrong = changed(&follower, 3, |header| header.set_leader_epoch(LeaderEpoch(epoch)));
        let refused = repair.take(&wrong);
        assert!(matches!(refused, Err(RepairError::Epoch { .. })), "{epoch}: {refused:?}");
    }
    follower.fill(&mut repair, 2);
    assert!(repair.finish(None).unwrap());
    assert_eq!(log.epochs().entries().unwrap(), history);
    assert_eq!(values(&log, 0, 10).len(), 10);
    assert_eq!(log.checks().damages(), []);
}

#[test]
fn a_log_that_was_truncated_or_has_lost_the_segment_meanwhile_stays_as_it_is() {
    for change in 0..4 {
        let follower = Follower::of_letters();
        follower.rot(3, 2);
        let log = follower.open();
        let mut repair = Repair::begin(&log, offset(3)).unwrap().unwrap();
        follower.fill(&mut repair, 1);
        match change {
            0 => drop(log.truncator().cut(offset(7)).unwrap()),
            1 => drop(log.truncator().cut(offset(4)).unwrap()),
            2 => {
                log.retention().advance_log_start(offset(6)).unwrap();
                log.retention().delete_before_start(offset(9)).unwrap();
            }
            _ => log.abandon(),
        }
        let names = |follower: &Follower| {
            let mut names = follower.world.names(DIR);
            names.retain(|name| !name.contains(".cleaned"));
            names
        };
        let before = names(&follower);
        assert!(!repair.finish(None).unwrap(), "change {change}");
        assert_eq!(follower.world.names(DIR), before);
    }
}

#[test]
fn a_log_start_within_the_damage_needs_no_batches_below_it() {
    for start in [4, 5, 6] {
        let mut follower = Follower::of_letters();
        follower.rot_all(3, &[0, 1, 2]);
        let log = follower.open();
        let mut repair = Repair::begin(&log, offset(3)).unwrap().unwrap();
        log.retention().advance_log_start(offset(start)).unwrap();
        let wanted = repair.wants().unwrap();
        assert_eq!(wanted, (start < 6).then(|| offset(start)..offset(6)));
        follower.fill(&mut repair, 1);
        assert!(repair.finish(None).unwrap());
        follower.marks.log_start = offset(start);
        let expected = 10 - usize::try_from(start).unwrap();
        assert_eq!(values(&log, start, 10).len(), expected);
        for point in follower.starts() {
            let log = follower.world.open(point);
            assert_eq!(values(&log, start, 10).len(), expected, "{point:?}");
        }
    }
}

#[test]
fn a_log_whose_offsets_count_bytes_is_repaired() {
    let mut world = World::with_segments_of(size() * 3);
    world.config.offset_unit = OffsetUnit::Byte;
    let log = world.start();
    for letter in LETTERS {
        append(&log, &[letter]);
    }
    let (bytes, end) = (size(), log.log_end_offset().get());
    let all = values(&log, 0, end);
    let follower = Follower::of(world, &log);
    let base = i64::try_from(bytes * 3).unwrap();
    follower.rot(base, 0);
    follower.rot(base, 2);
    let log = follower.open();
    assert_eq!(Repair::needed(&log).unwrap()[0].stretches.len(), 2);
    let mut repair = Repair::begin(&log, offset(base)).unwrap().unwrap();
    let refused = repair.take(&follower.fetch(offset(base + 2 * base / 3), 1));
    assert!(matches!(refused, Err(RepairError::Gap(_))), "{refused:?}");
    follower.fill(&mut repair, 1);
    assert!(repair.finish(None).unwrap());
    assert_eq!(follower.world.bytes(&file(base, "log")), follower.led[&base]);
    assert_eq!(values(&log, 0, end), all);
    for start in follower.starts() {
        assert_eq!(values(&follower.world.open(start), 0, end), all, "{start:?}");
    }
    follower.check_files();
}
