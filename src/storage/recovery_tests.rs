//! Tests of recovery after a crash.

use std::path::Path;
use std::sync::Arc;

use crate::config::ByteSize;
use crate::io::{Disk, OpenMode};
use crate::storage::compacted::Compacted;
use crate::storage::world_tests::{
    EPOCH, NOW, World, append, append_at, append_batch, append_timed, at, batch, crashed,
    crashed_rebuilding, file, stamp, stamped, texts, try_values, values,
};
use crate::storage::{AppendAt, CheckpointOffsets, Damage, Log, StartPoint, StorageError, verify};
use crate::types::{LeaderEpoch, Offset, Timestamp};

const LATER: AppendAt = AppendAt { epoch: LeaderEpoch(9), now: NOW };

/// A log of the batches a, b, c, d, all flushed, and its recorded offsets.
fn four(world: &World) -> (Log, CheckpointOffsets) {
    let log = world.start();
    for value in ["a", "b", "c", "d"] {
        append(&log, &[value]);
    }
    log.flush().unwrap();
    let marks = log.checkpoints().offsets();
    (log, marks)
}

/// The size in bytes of each batch in the log of `four`.
fn size() -> u64 {
    batch(&["a"]).len() as u64
}

/// Flips a bit in the records of a batch.
fn damage(world: &World, base: i64, number: u64) {
    let path = file(base, "log");
    let position = number * size() + 65;
    let byte = world.bytes(&path)[usize::try_from(position).unwrap()];
    world.overwrite(&path, Some(position), &[byte ^ 4]);
}

#[test]
fn recovery_truncates_a_torn_batch_and_quarantines_its_bytes() {
    for same_boot in [false, true] {
        let world = World::new();
        drop(four(&world));
        let torn = &batch(&["torn"])[..40];
        world.overwrite(&file(0, "log"), None, torn);
        let log = world.open(crashed(4, same_boot));
        assert_eq!((log.log_end_offset().get(), log.flushed_offset().get()), (4, 4));
        assert_eq!(values(&log, 0, 4).len(), 4);
        let kept = format!("/data/quarantine/t-0.0.{}.cut", size() * 4);
        assert_eq!(world.bytes(Path::new(&kept)), torn);
        log.start_epoch(LATER.epoch).unwrap();
        assert_eq!(append_at(&log, &["e"], LATER).unwrap().base_offset, Offset::new(4));
    }
}

#[test]
fn after_a_power_failure_a_hole_is_truncated_with_all_that_follows_it() {
    let world = World::with_segments_of(size() * 2);
    drop(four(&world));
    damage(&world, 0, 1);
    let log = world.open(crashed(1, false));
    assert_eq!(log.log_end_offset(), Offset::new(1));
    assert!(log.checks().damages().is_empty());
    assert_eq!(texts(&values(&log, 0, 1)), ["a"]);
    assert_eq!(world.segments(), [0]);
    assert_eq!(world.names("/data/quarantine").len(), 2);
}

#[test]
fn in_the_same_boot_a_hole_before_a_good_batch_is_damage() {
    let world = World::with_segments_of(size() * 2);
    drop(four(&world));
    damage(&world, 0, 1);
    let log = world.open(crashed(1, true));
    let (start, end) = (size(), size() * 2);
    let [first, next] = [1, 2].map(Offset::new);
    assert_eq!(log.checks().damages(), [Damage { segment: Offset::ZERO, start, end, first, next }]);
    assert_eq!(texts(&values(&log, 2, 4)), ["c", "d"]);
}

#[test]
fn damage_below_the_durable_point_is_kept_and_refused_and_all_else_is_served() {
    let world = World::new();
    let (_, marks) = four(&world);
    damage(&world, 0, 1);
    let before = world.bytes(&file(0, "log"));
    let log = world.open(crashed_rebuilding(marks, false));
    assert_eq!(texts(&values(&log, 0, 1)), ["a"]);
    assert!(matches!(
        try_values(&log, 1, 4),
        Err(StorageError::Corrupt { first, next, .. })
            if first == Offset::new(1) && next == Offset::new(2)
    ));
    assert!(try_values(&log, 0, 4).is_err(), "a read stops where the damage begins");
    assert_eq!(texts(&values(&log, 2, 4)), ["c", "d"]);
    log.start_epoch(LATER.epoch).unwrap();
    append_at(&log, &["e"], LATER).unwrap();
    // The damage is still known after a clean shutdown.
    let marks = log.close().unwrap();
    let (log_start, log_end) = (marks.log_start, marks.durable);
    let log = world.open(StartPoint::Clean { log_start, log_end });
    assert!(try_values(&log, 1, 4).is_err());
    assert_eq!(texts(&values(&log, 2, 5)), ["c", "d", "e"]);
    assert!(world.bytes(&file(0, "log")).starts_with(&before));
}

#[test]
fn nothing_is_appended_behind_damage_at_the_end() {
    let world = World::new();
    let (_, marks) = four(&world);
    damage(&world, 0, 3);
    let log = world.open(crashed_rebuilding(marks, false));
    assert_eq!(log.log_end_offset(), Offset::new(4));
    assert!(matches!(log.start_epoch(LATER.epoch), Err(StorageError::Corrupt { .. })));
    assert!(matches!(append_at(&log, &["e"], at()), Err(StorageError::Corrupt { .. })));
    assert_eq!(texts(&values(&log, 0, 3)), ["a", "b", "c"]);
    assert!(matches!(try_values(&log, 3, 4), Err(StorageError::Corrupt { .. })));
    let again = world.open(crashed_rebuilding(marks, false));
    assert_eq!(again.checks().damages(), log.checks().damages());
}

#[test]
fn a_segment_cut_short_below_the_durable_point_is_damage() {
    let world = World::new();
    let (_, marks) = four(&world);
    let path = file(0, "log");
    let file = world.disk.open(&path, crate::io::OpenMode::Write).unwrap();
    file.set_len(size() * 3).unwrap();
    file.sync_data().unwrap();
    let log = world.open(crashed_rebuilding(marks, false));
    assert_eq!(texts(&values(&log, 0, 3)), ["a", "b", "c"]);
    assert!(matches!(try_values(&log, 3, 4), Err(StorageError::Corrupt { .. })));
}

#[test]
fn a_missing_segment_below_the_durable_point_is_damage() {
    let world = World::with_segments_of(size());
    let (_, marks) = four(&world);
    world.disk.remove_file(&file(1, "log")).unwrap();
    let log = world.open(crashed_rebuilding(marks, false));
    assert_eq!(texts(&values(&log, 0, 1)), ["a"]);
    assert!(matches!(try_values(&log, 1, 4), Err(StorageError::Corrupt { .. })));
    assert_eq!(texts(&values(&log, 2, 4)), ["c", "d"]);
}

#[test]
fn a_log_that_has_lost_everything_is_not_opened_as_empty() {
    let world = World::new();
    let (_, marks) = four(&world);
    world.disk.remove_file(&file(0, "log")).unwrap();
    let log = world.open(crashed_rebuilding(marks, false));
    assert_eq!(log.log_end_offset(), Offset::new(4));
    let lost = Offset::ZERO..Offset::new(4);
    assert_eq!(log.tail().lost_end().unwrap(), Some(lost));
}

#[test]
fn an_interrupted_deletion_or_compaction_is_completed_or_undone() {
    let world = World::with_segments_of(size() * 2);
    drop(four(&world));
    // The replacement of the first segment holds only its second batch.
    let kept = world.bytes(&file(0, "log")).split_off(usize::try_from(size()).unwrap());
    let compacted = Compacted { gaps_below: Offset::new(2), clean_below: Offset::new(2) };
    compacted.store(&world.disk, Path::new("/data/t-0")).unwrap();
    world.overwrite(&file(0, "log.swap"), None, &kept);
    world.overwrite(&file(2, "log.cleaned"), None, &kept);
    world.overwrite(&file(7, "log.deleted"), None, &kept);
    world.overwrite(&file(8, "index"), None, &[0; 8]);
    let log = world.open(crashed(4, false));
    assert_eq!(texts(&values(&log, 0, 4)), ["b", "c", "d"]);
    let names = world.names("/data/t-0");
    let leftover = |name: &&String| {
        ["swap", "cleaned", "deleted"].iter().any(|end| name.ends_with(end))
            || name.starts_with("00000000000000000008")
    };
    assert_eq!(names.iter().find(leftover), None);
}

#[test]
fn a_replacement_without_batches_takes_only_its_own_segment_with_it() {
    let world = World::with_segments_of(size() * 2);
    drop(four(&world));
    world.overwrite(&file(0, "log.swap"), None, &[]);
    let log = world.open(crashed(4, true));
    assert_eq!(world.segments(), [0, 2]);
    assert_eq!(texts(&values(&log, 2, 4)), ["c", "d"]);
}

#[test]
fn gaps_are_damage_unless_the_log_is_known_to_be_compacted() {
    for is_compacted in [false, true] {
        let world = World::new();
        let log = world.start();
        for value in ["a", "b", "c"] {
            append(&log, &[value]);
        }
        drop(log);
        let bytes = world.bytes(&file(0, "log"));
        let (first, rest) = bytes.split_at(usize::try_from(size()).unwrap());
        let last = &rest[usize::try_from(size()).unwrap()..];
        let path = file(0, "log");
        world.disk.open(&path, OpenMode::Write).unwrap().set_len(0).unwrap();
        world.overwrite(&path, None, &[first, last].concat());
        if is_compacted {
            let known = Compacted { gaps_below: Offset::new(3), clean_below: Offset::ZERO };
            known.store(&world.disk, Path::new("/data/t-0")).unwrap();
        }
        // The checkpoint of the durable point is lost.
        let log = world.open(crashed(0, false));
        let expected = if is_compacted { 3 } else { 1 };
        assert_eq!(log.log_end_offset().get(), expected, "compacted: {is_compacted}");
    }
}

#[test]
fn a_lost_epoch_history_is_read_from_the_batches() {
    let world = World::new();
    let (log, marks) = four(&world);
    log.start_epoch(LATER.epoch).unwrap();
    append_at(&log, &["e"], LATER).unwrap();
    log.flush().unwrap();
    let epochs = log.epochs().entries().unwrap();
    world.disk.remove_file(Path::new("/data/t-0/leader-epoch-checkpoint")).unwrap();
    let log = world.open(crashed(marks.durable.get(), false));
    assert_eq!(log.epochs().entries().unwrap(), epochs);
    assert_eq!(log.epochs().end_offset_for(EPOCH).unwrap(), Some((EPOCH, Offset::new(4))));
}

#[test]
fn a_lost_time_index_is_rebuilt_from_the_first_batch() {
    let mut world = World::new();
    world.config.index_interval = ByteSize(100);
    let log = world.start();
    append_timed(&log, &[100, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    let CheckpointOffsets { log_start, durable, .. } = log.close().unwrap();
    drop(log);
    world.disk.remove_file(&file(0, "timeindex")).unwrap();
    let rebuild = Offset::new(5);
    let log = world.open(StartPoint::Unclean { log_start, durable, rebuild, same_boot: false });
    for wanted in [0, 1, 5, 9, 50, 100] {
        let found = log.lookups().offset_for_timestamp(Timestamp::from_millis(wanted)).unwrap();
        assert_eq!(found.map(|record| record.offset), Some(Offset::ZERO), "at {wanted}");
    }
    log.close().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(world.disk.clone());
    let reports = verify(&disk, Path::new("/data/t-0")).unwrap();
    let flaws = reports.iter().flat_map(|report| &report.findings);
    let of_index = flaws.filter(|flaw| flaw.path == file(0, "timeindex"));
    assert_eq!(of_index.map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_time_index_with_zeros_at_its_end_is_rebuilt_from_the_first_batch() {
    let mut world = World::new();
    world.config.index_interval = ByteSize(100);
    let log = world.start();
    append_timed(&log, &[100, 1, 2, 3, 4, 5, 6, 7]);
    let CheckpointOffsets { log_start, durable, .. } = log.close().unwrap();
    drop(log);
    // A power failure may keep the length of an unsynced write, and not its bytes.
    world.overwrite(&file(0, "timeindex"), None, &[0; 24]);
    let rebuild = Offset::new(5);
    let log = world.open(StartPoint::Unclean { log_start, durable, rebuild, same_boot: false });
    for wanted in [0, 1, 5, 50, 100] {
        let found = log.lookups().offset_for_timestamp(Timestamp::from_millis(wanted)).unwrap();
        assert_eq!(found.map(|record| record.offset), Some(Offset::ZERO), "at {wanted}");
    }
    assert_eq!(log.lookups().offset_for_timestamp(Timestamp::from_millis(101)).unwrap(), None);
}

#[test]
fn producer_state_is_recovered_without_a_snapshot() {
    let world = World::with_segments_of(150);
    let log = world.start();
    append_batch(&log, stamped(&["a", "b"], Some(stamp(0))), at()).unwrap();
    append_batch(&log, stamped(&["c"], Some(stamp(2))), at()).unwrap();
    log.flush().unwrap();
    let marks = log.checkpoints().advance().unwrap();
    for name in world.names("/data/t-0") {
        if let Some(offset) = name.strip_suffix(".snapshot") {
            let path = file(offset.parse().unwrap(), "snapshot");
            world.overwrite(&path, Some(5), b"damage");
        }
    }
    let log = world.open(crashed(marks.durable.get(), false));
    log.start_epoch(LATER.epoch).unwrap();
    let again = append_batch(&log, stamped(&["a", "b"], Some(stamp(0))), LATER).unwrap();
    assert!(again.is_duplicate);
    assert_eq!(again.base_offset, Offset::ZERO);
}

#[test]
fn a_log_whose_files_do_not_end_at_its_clean_end_is_refused() {
    let world = World::new();
    let (log, _) = four(&world);
    log.close().unwrap();
    let (log_start, log_end) = (Offset::ZERO, Offset::new(5));
    let log = world.open(StartPoint::Clean { log_start, log_end });
    assert!(matches!(
        log.start_epoch(LATER.epoch),
        Err(StorageError::Corrupt { first, .. }) if first == Offset::new(4)
    ));
}

#[test]
fn bytes_of_a_failed_append_do_not_hide_the_next_segment() {
    for same_boot in [false, true] {
        let world = World::with_segments_of(size() * 2);
        drop(four(&world));
        // A whole batch with the base offset of the next segment.
        let mut ghost = batch(&["x"]);
        ghost[..8].copy_from_slice(&2_i64.to_be_bytes());
        ghost[12..16].copy_from_slice(&EPOCH.0.to_be_bytes());
        world.overwrite(&file(0, "log"), None, &ghost);
        let log = world.open(crashed(1, same_boot));
        assert!(log.checks().damages().is_empty());
        assert_eq!(texts(&values(&log, 0, 4)), ["a", "b", "c", "d"]);
        assert_eq!(world.bytes(&file(0, "log")).len() as u64, size() * 2);
    }
}

#[test]
fn below_the_durable_point_a_batch_of_another_epoch_than_its_own_is_damage() {
    // Include the last batch: no batch follows it whose lower epoch could reveal the error.
    for number in 0..4_u32 {
        for bit in 0..32_u32 {
            let world = World::new();
            let (log, marks) = four(&world);
            drop(log);
            let path = file(0, "log");
            let position = u64::from(number) * size() + 12 + u64::from(bit / 8);
            let byte = world.bytes(&path)[usize::try_from(position).unwrap()];
            world.overwrite(&path, Some(position), &[byte ^ 1 << (bit % 8)]);
            let log = world.open(crashed_rebuilding(marks, true));
            let damages = log.checks().damages();
            let [damage] = damages.as_slice() else {
                panic!("batch {number}, bit {bit}: {damages:?}")
            };
            assert_eq!(damage.first.get(), i64::from(number), "bit {bit}");
            assert_eq!(damage.next.get(), i64::from(number) + 1, "bit {bit}");
            assert_eq!(log.log_end_offset(), Offset::new(4), "bit {bit}");
        }
    }
}
