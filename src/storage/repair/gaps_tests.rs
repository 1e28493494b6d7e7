//! Tests of repairs of logs with gaps: those of compaction, and damage that the leader has skipped.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::world_tests::{DIR, Follower, offset, size};
use crate::io::Disk;
use crate::record::{Batches, HeaderMut};
use crate::storage::compacted::Compacted;
use crate::storage::world_tests::{
    World, batch, crashed_rebuilding, file, texts, try_values, values,
};
use crate::storage::{CleanupPolicy, Log, LogDamage, Repair, RepairError, StartPoint};
use crate::types::{LeaderEpoch, Offset};

const FETCHED_IN: LeaderEpoch = LeaderEpoch(5);

fn batch_at(number: i64) -> Vec<u8> {
    let mut bytes = batch(&["x"]);
    let mut header = HeaderMut::of_batch(&mut bytes).unwrap();
    header.set_base_offset(offset(number));
    header.set_leader_epoch(LeaderEpoch(3));
    bytes
}

/// A log of a compacted topic with gaps between its batches.
fn compacted() -> Follower {
    let mut world = World::with_segments_of(size() * 3);
    world.config.cleanup_policy = CleanupPolicy { compact: true, delete: false };
    let log = world.open(StartPoint::New);
    log.epochs().change().follow(FETCHED_IN);
    for number in [0, 2, 5, 6, 9, 11, 14, 15, 20, 21] {
        log.append_fetched(&batch_at(number), FETCHED_IN).unwrap();
    }
    log.flush().unwrap();
    let follower = Follower::of(world, &log);
    assert_eq!(follower.world.segments(), [0, 6, 12, 21]);
    follower
}

fn offsets(log: &Log, from: i64) -> Vec<i64> {
    values(log, from, 22).into_iter().map(|(offset, _)| offset).collect()
}

/// Removes batches of the leader.
fn forget(follower: &mut Follower, range: Range<i64>) {
    for bytes in follower.led.values_mut() {
        let batches = Batches::new(bytes).map(Result::unwrap);
        let kept = batches.filter(|batch| !range.contains(&batch.base_offset().get()));
        *bytes = kept.flat_map(|batch| batch.bytes().to_vec()).collect();
    }
}

fn note_compacted(world: &World, gaps_below: i64, clean_below: i64) {
    let (gaps_below, clean_below) = (offset(gaps_below), offset(clean_below));
    Compacted { gaps_below, clean_below }.store(&world.disk, Path::new(DIR)).unwrap();
}

#[test]
fn a_compacted_log_is_repaired_with_its_gaps() {
    for is_still_compacted in [true, false] {
        for (base, number) in [(0, 0), (0, 2), (6, 0), (6, 1), (6, 2), (12, 2)] {
            let mut follower = compacted();
            follower.world.config.cleanup_policy.compact = is_still_compacted;
            follower.world.config.cleanup_policy.delete = !is_still_compacted;
            note_compacted(&follower.world, 21, 14);
            follower.rot(base, number);
            let log = follower.open();
            assert!(follower.repair(&log, base, 1), "{base} {number}");
            assert_eq!(follower.world.bytes(&file(base, "log")), follower.led[&base]);
            let known = Compacted::load(&follower.world.disk, Path::new(DIR)).unwrap();
            let lowered = offset(base.min(14));
            assert_eq!((known.gaps_below.get(), known.clean_below), (21, lowered));
            for start in follower.starts() {
                let log = follower.world.open(start);
                assert_eq!(offsets(&log, 0), [0, 2, 5, 6, 9, 11, 14, 15, 20, 21]);
                assert_eq!(log.checks().damages(), []);
            }
            follower.check_files();
        }
    }
}

#[test]
fn a_leader_that_has_compacted_more_leaves_larger_gaps() {
    for (base, gone, left) in [
        (6, 9..10, &[0, 2, 5, 6, 11, 14, 15, 20, 21][..]),
        (6, 11..12, &[0, 2, 5, 6, 9, 14, 15, 20, 21][..]),
        (12, 14..16, &[0, 2, 5, 6, 9, 11, 20, 21][..]),
    ] {
        let mut follower = compacted();
        let numbers: &[u64] = if base == 12 { &[0, 1] } else { &[1, 2] };
        follower.rot_all(base, numbers);
        let log = follower.open();
        forget(&mut follower, gone);
        assert!(follower.repair(&log, base, 1));
        assert_eq!(offsets(&log, 0), left);
        for start in follower.starts() {
            let log = follower.world.open(start);
            assert_eq!(offsets(&log, 0), left, "{start:?}");
            assert_eq!(log.checks().damages(), []);
        }
    }
}

/// Repairs a log of letters of whose damage the leader has skipped some offsets.
fn with_skipped(rotten: &[u64], skipped: Range<i64>) -> Follower {
    let mut follower = Follower::of_letters();
    follower.rot_all(3, rotten);
    forget(&mut follower, skipped.clone());
    let log = follower.open();
    let mut repair = Repair::begin(&log, offset(3)).unwrap().unwrap();
    let skipped = offset(skipped.start)..offset(skipped.end);
    loop {
        let wanted = repair.wants().unwrap().unwrap();
        match repair.take(&follower.fetch(wanted.start, 1)) {
            Err(RepairError::Gap(gap)) => {
                assert_eq!(gap, skipped);
                break;
            }
            taken => taken.unwrap(),
        }
    }
    let less = skipped.start..offset(skipped.end.get() - 1);
    repair.expect_gaps([less.clone(), offset(100)..offset(90)]);
    assert!(repair.take(&follower.fetch(skipped.start, 1)).is_err());
    repair.expect_gaps([less.end..skipped.end]);
    follower.fill(&mut repair, 1);
    assert!(repair.finish(None).unwrap());
    let context = log.context();
    assert!(context.skips.cover(&*context.disk, Path::new(DIR), &skipped));
    assert!(!context.skips.cover(&*context.disk, Path::new(DIR), &(offset(3)..offset(9))));
    assert_eq!(Repair::needed(&log).unwrap(), []);
    let gaps = LogDamage::of(&log).gaps().unwrap();
    assert!(gaps.iter().any(|gap| gap.start <= skipped.start && skipped.end <= gap.end));
    let copies = follower.world.disk.list(Path::new("/data/quarantine/skipped/t-0")).unwrap();
    assert_eq!(copies.len(), 1);
    follower
}

#[test]
fn offsets_that_the_leader_has_skipped_stay_a_gap_and_are_skipped_here() {
    for (rotten, skipped, left) in [
        (&[1][..], 4..5, "abcdfghij"),
        (&[0, 1][..], 4..5, "abcdfghij"),
        (&[0, 1][..], 3..4, "abcefghij"),
        (&[0, 1, 2][..], 4..6, "abcdghij"),
        (&[2][..], 5..6, "abcdeghij"),
        (&[0, 2][..], 5..6, "abcdeghij"),
    ] {
        let follower = with_skipped(rotten, skipped.clone());
        for start in follower.starts() {
            let log = follower.world.open(start);
            let all = values(&log, 0, 10);
            assert_eq!(texts(&all).concat(), left, "{start:?}");
            let after = usize::try_from(skipped.start).unwrap();
            assert_eq!(texts(&values(&log, skipped.start, 10)).concat(), left[after..]);
            assert_eq!(log.checks().damages(), []);
        }
        follower.check_files();
    }
}

#[test]
fn a_segment_of_which_the_leader_has_nothing_is_skipped_as_it_is() {
    for is_lost in [true, false] {
        let mut follower = Follower::of_letters();
        if is_lost {
            follower.lose(0);
        } else {
            follower.rot_all(0, &[0, 1, 2]);
        }
        forget(&mut follower, 0..3);
        let log = follower.open();
        let damages = log.checks().damages();
        let mut repair = Repair::begin(&log, Offset::ZERO).unwrap().unwrap();
        repair.expect_gaps([Offset::ZERO..offset(3)]);
        follower.fill(&mut repair, 1);
        assert!(repair.finish(None).unwrap());
        assert_eq!(Repair::needed(&log).unwrap(), []);
        for start in follower.starts() {
            let log = follower.world.open(start);
            assert_eq!(texts(&values(&log, 0, 10)).concat(), "defghij");
            assert_eq!(log.checks().damages(), damages);
        }
    }
}

#[test]
fn damage_that_was_skipped_here_is_repaired_with_the_rest_of_its_segment() {
    let follower = Follower::of_letters();
    follower.rot(3, 0);
    follower.rot(3, 2);
    let log = follower.open();
    LogDamage::of(&log).skip(offset(3)..offset(4), |_| Ok(())).unwrap();
    assert_eq!(Repair::needed(&log).unwrap()[0].stretches.len(), 2);
    assert!(follower.repair(&log, 3, 1));
    assert_eq!(follower.world.bytes(&file(3, "log")), follower.led[&3]);
    follower.check_letters(&log);
}

#[test]
fn a_lost_segment_stays_damage_although_later_gaps_are_allowed_above_it() {
    let follower = Follower::of_letters();
    follower.lose(3);
    let damages = follower.open().checks().damages();
    assert_eq!(damages.len(), 1);
    note_compacted(&follower.world, 9, 0);
    let log = Arc::new(follower.world.open(crashed_rebuilding(follower.marks, true)));
    assert_eq!(log.checks().damages(), damages);
    assert!(try_values(&log, 3, 10).is_err());
    assert!(follower.repair(&log, 0, 2));
    follower.check_letters(&log);
}
