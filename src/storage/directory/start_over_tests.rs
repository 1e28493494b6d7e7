//! A follower's log that starts over, with the end of the process or a power failure at every
//! single step.

use std::sync::Arc;

use super::crash_tests::{StoppingDisk, raises_no_alarm};
use super::directory_tests::{World, append, partition, topic, watermark};
use crate::io::faulty::FaultyDisk;
use crate::io::{Disk, MemoryDisk};
use crate::storage::{HighWatermarks, ReadLimit, StorageError, Truncation};
use crate::types::{LeaderEpoch, Offset};

/// The number of records in the log before it is started over, all of which are durable.
const BEFORE: i64 = 6;

/// Creates the log of partition 0, and starts it over at `at`. Returns true once that is durable.
fn start_over(world: &World, at: i64) -> Result<bool, StorageError> {
    let directory = world.open()?;
    let log = directory.create_log(&partition(0), topic(1))?;
    append(&log, BEFORE)?;
    log.flush()?;
    directory.advance_log_start(&log, Offset::new(2))?;
    directory.checkpoint(&watermark(5))?;
    let epoch = LeaderEpoch(9);
    log.epochs().change().follow(epoch);
    directory.start_log_over(&Truncation { log, epoch, to: Offset::new(at) })?;
    Ok(true)
}

/// Checks the log of partition 0, if there is one, and that it accepts records.
fn check(disk: &Arc<dyn Disk>, boot_id: &str, (at, is_done): (i64, bool)) {
    raises_no_alarm(disk);
    let mut world = World::on(Arc::clone(disk));
    boot_id.clone_into(&mut world.boot_id);
    let directory = world.open().unwrap();
    let Some(log) = directory.log(&partition(0)).unwrap() else {
        assert!(!is_done, "the log is gone");
        return;
    };
    let (start, end) = (log.log_start_offset().get(), log.log_end_offset().get());
    let watermark = directory.high_watermark(&partition(0)).map_or(0, Offset::get);
    let known = format!("{start}..{end}, watermark {watermark}");
    assert!(log.checks().damages().is_empty(), "{known}: {:?}", log.checks().damages());
    if is_done {
        assert_eq!((start, end, watermark), (at, at, at));
    } else {
        // The log has some of the old records, or none.
        assert!(end <= BEFORE || (start, end) == (at, at), "{known}");
        assert!(watermark <= end.max(5), "{known}");
    }
    let limit = ReadLimit {
        max_bytes: 1 << 20,
        below: log.log_end_offset(),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    assert_eq!(log.read(Offset::new(start), limit).unwrap().is_some(), start < end, "{known}");
    append(&log, 1).unwrap();
    assert_eq!(log.flush().unwrap(), Offset::new(end + 1));
    directory.close(&HighWatermarks::new()).unwrap();
    drop((directory, log));
    let again = world.open().unwrap().log(&partition(0)).unwrap().unwrap();
    assert_eq!(again.log_end_offset(), Offset::new(end + 1));
}

fn at_every_step(at: i64, check_after: impl Fn(&FaultyDisk, bool)) {
    for steps in 0.. {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
        let stopping = StoppingDisk::new(&disk, steps);
        let done = start_over(&World::on(Arc::new(stopping.clone())), at);
        assert_eq!(done.is_err(), stopping.has_stopped(), "{done:?}");
        let is_done = done.unwrap_or(false);
        println!("step {steps}");
        check_after(&disk, is_done);
        if is_done {
            assert!(steps > 40, "only {steps} steps");
            return;
        }
    }
}

#[test]
fn a_process_killed_at_any_step_of_starting_over_leaves_a_sound_log() {
    for at in [70, 1] {
        at_every_step(at, |disk, is_done| {
            check(&(Arc::new(disk.clone()) as Arc<dyn Disk>), "boot-1", (at, is_done));
        });
    }
}

#[test]
fn power_that_fails_at_any_step_of_starting_over_leaves_a_sound_log() {
    for (at, seed) in [(70, 17), (70, 18), (70, 19), (1, 17)] {
        at_every_step(at, |disk, is_done| {
            let after = disk.crash(seed).unwrap();
            check(&(Arc::new(after) as Arc<dyn Disk>), "boot-2", (at, is_done));
        });
    }
}
