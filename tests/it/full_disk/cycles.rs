//! A disk is filled and freed repeatedly, each time at another point of the broker's work. Nothing
//! acknowledged is lost, all stored records can be read, and when a megabyte is free the broker
//! accepts records again without a restart.

use std::thread::sleep;
use std::time::Duration;

use super::station::Station;
use super::volume::FileSystem;
use crate::support::Random;

/// The point of the broker's work at which the disk becomes full.
#[derive(Clone, Copy, Debug)]
enum Place {
    Append,
    Roll,
    Index,
    Seal,
    Checkpoint,
    Snapshot,
    Journal,
    Compaction,
    OffsetsTopic,
    Start,
    StartAfterKill,
    /// At a start without a reserve, as after an earlier release or after its removal.
    StartWithoutReserve,
    StartAfterKillWithoutReserve,
    Stop,
    Retention,
}

const PLACES: [Place; 15] = [
    Place::Append,
    Place::Roll,
    Place::Index,
    Place::Seal,
    Place::Checkpoint,
    Place::Snapshot,
    Place::Journal,
    Place::Compaction,
    Place::OffsetsTopic,
    Place::Start,
    Place::StartAfterKill,
    Place::StartWithoutReserve,
    Place::StartAfterKillWithoutReserve,
    Place::Stop,
    Place::Retention,
];

/// The approximate size of a batch, and the number of batches in a segment.
const BATCH_BYTES: u64 = 1_500;
const BATCHES_PER_SEGMENT: usize = 33;

/// The time after which a checkpoint and the due maintenance are done.
const UPKEEP: Duration = Duration::from_millis(1_200);

#[test]
fn ext4_with_blocks_of_1024_bytes_is_filled_and_heals() {
    println!("{}", fill_and_free(FileSystem::Ext4(1024)));
}

#[test]
fn ext4_with_blocks_of_4096_bytes_is_filled_and_heals() {
    println!("{}", fill_and_free(FileSystem::Ext4(4096)));
}

#[test]
fn tmpfs_is_filled_and_heals() {
    println!("{}", fill_and_free(FileSystem::Tmpfs));
}

/// Runs all points, `STREAMLOG_FILLS` times or once, and returns a summary.
fn fill_and_free(kind: FileSystem) -> String {
    let rounds = std::env::var("STREAMLOG_FILLS").map_or(1, |text| text.parse().unwrap());
    let mut station = Station::new(kind);
    let mut random = Random::new(rounds);
    let mut cycles = 0;
    for round in 0..rounds {
        for place in PLACES {
            eprintln!("{kind:?}: round {round}, {place:?}");
            station.produce_some(20);
            run_out(&mut station, place, &mut random);
            station.check();
            if !matches!(place, Place::Retention) {
                // Take the space that the broker has freed from its reserve.
                station.volume.fill(0);
                station.check();
                station.volume.free(1 << 20);
                station.wait_until_it_takes_records();
            }
            station.check();
            station.volume.empty();
            station.wait_until_it_takes_records();
            station.set("retention.bytes", None);
            station.delete_records();
            cycles += 1;
        }
    }
    station.stop();
    let name = station.volume.name();
    format!("{name}: {cycles} cycles, 0 lost, 0 reads refused, 0 restarts needed")
}

/// Fills the disk at a given point.
fn run_out(station: &mut Station, place: Place, random: &mut Random) {
    match place {
        Place::Append => {
            station.volume.fill(random.below(32 << 10));
            station.produce_until_refused();
        }
        Place::Roll => {
            station.produce_some(BATCHES_PER_SEGMENT - 21);
            station.volume.fill(2 * BATCH_BYTES);
            station.produce_until_refused();
        }
        Place::Index => {
            station.produce_some(600);
            station.volume.fill(random.below(8 << 10));
            station.produce_until_refused();
            sleep(UPKEEP);
        }
        Place::Seal => {
            station.produce_some(2 * BATCHES_PER_SEGMENT);
            station.volume.fill(0);
            sleep(UPKEEP);
        }
        Place::Checkpoint => {
            station.volume.fill(0);
            sleep(UPKEEP);
            station.delete_records();
        }
        Place::Snapshot => {
            station.produce_in_sequence(2 * BATCHES_PER_SEGMENT);
            station.volume.fill(0);
            sleep(UPKEEP);
        }
        Place::Journal => run_out_in_the_journal(station),
        Place::Compaction => {
            station.commit(300);
            station.volume.fill(random.below(8 << 10));
            sleep(UPKEEP);
            station.commit(20);
        }
        Place::OffsetsTopic => {
            station.volume.fill(0);
            station.commit(200);
        }
        Place::Start | Place::StartAfterKill | Place::Stop => run_out_in_between(station, place),
        Place::StartWithoutReserve | Place::StartAfterKillWithoutReserve => {
            run_out_without_reserve(station, place);
        }
        Place::Retention => run_out_before_retention(station),
    }
}

/// Fills the disk before a stop, or before the start that follows.
fn run_out_in_between(station: &mut Station, place: Place) {
    station.commit(5);
    if matches!(place, Place::Stop) {
        station.volume.fill(0);
    }
    station.stop();
    if matches!(place, Place::StartAfterKill) {
        station.forget_clean_stop();
    }
    station.volume.fill(0);
    station.start();
    station.commit(5);
}

/// Fills the disk and removes the reserve before a start: readers are served, producers refused.
fn run_out_without_reserve(station: &mut Station, place: Place) {
    station.produce_some(3 * BATCHES_PER_SEGMENT);
    station.stop();
    if matches!(place, Place::StartAfterKillWithoutReserve) {
        station.forget_clean_stop();
    }
    station.forget_reserve();
    station.volume.fill(0);
    station.start();
    station.produce_until_refused();
}

/// Lets retention free space without help.
fn run_out_before_retention(station: &mut Station) {
    station.produce_some(5 * BATCHES_PER_SEGMENT);
    station.volume.fill(0);
    station.produce_until_refused();
    station.set("retention.bytes", Some("1"));
    station.wait_until_it_takes_records();
}

fn run_out_in_the_journal(station: &mut Station) {
    for name in ["spare-1", "spare-2"] {
        station.create_topic(name, &[]);
    }
    station.volume.fill(0);
    station.produce_until_refused();
    for segment in ["1000000", "2000000", "3000000"] {
        station.set("segment.bytes", Some(segment));
    }
    station.set("segment.bytes", None);
    for name in ["spare-1", "spare-2"] {
        station.delete_topic(name);
    }
}
