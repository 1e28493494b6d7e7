//! Batches that compaction has emptied, as consumers and followers read them.

use std::path::Path;
use std::sync::Arc;

use super::kept_tests::{DIR, open, settings};
use super::world_tests::{AT, World, stamp};
use crate::io::faulty::FaultyDisk;
use crate::io::{Disk, MemoryDisk};
use crate::record::{Batches, Compression, ProducerStamp};
use crate::storage::world_tests::bytes_of;
use crate::storage::{InMemory, Log, ReadLimit, StartPoint};
use crate::types::{Offset, ProducerId};

/// The offset of the last batch of the first producer, which compaction empties.
const EMPTIED: i64 = 1;
/// The offset of the first record that compaction leaves.
const LEFT: i64 = 2;

/// The size of a record that spans pages of the disk's cache.
const PAGES: usize = 20_000;

/// A log of two producers, the second of which overwrites the only key of the first.
fn overwritten() -> World {
    let mut world = World::with(settings(100_000));
    let last = format!("a={}", "3".repeat(PAGES));
    let second = ProducerStamp { id: ProducerId(8), ..stamp(0) };
    world.append_as(&["a=1"], Some(stamp(0)), Compression::None);
    world.append_as(&["a=2"], Some(stamp(1)), Compression::None);
    world.append_as(&[&last], Some(second), Compression::None);
    world.roll();
    world.append(&["b=1"]);
    world
}

/// The limits of a read of one batch.
fn one_batch(world: &World, keeps_emptied: bool) -> ReadLimit {
    let below = Offset::new(world.end);
    ReadLimit { max_bytes: 1, below, at_least_one_batch: true, keeps_emptied }
}

/// The base offsets and the record counts of batches.
fn described(bytes: &[u8]) -> Vec<(i64, u32)> {
    let batches = Batches::new(bytes).map(Result::unwrap);
    batches.map(|batch| (batch.base_offset().get(), batch.record_count())).collect()
}

/// An empty log of a follower.
fn follower(world: &World) -> Arc<Log> {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 2);
    disk.create_dir(Path::new("/data")).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    let log = open(Arc::new(disk), &world.clock, &world.config, StartPoint::New).unwrap();
    log.epochs().change().follow(AT.epoch);
    log
}

/// Appends what a log lacks below an offset, batch by batch, as its leader has it.
fn fetch_below(world: &World, follower: &Log, below: i64) {
    while follower.log_end_offset().get() < below {
        let range = world.log.read(follower.log_end_offset(), one_batch(world, true));
        let batch = bytes_of(&range.unwrap().unwrap());
        follower.append_fetched(&batch, AT.epoch).unwrap();
    }
}

#[test]
fn a_read_for_a_follower_begins_with_an_emptied_batch_and_one_for_a_consumer_after_it() {
    let world = overwritten();
    world.compact();
    for (keeps_emptied, from, expected) in [
        (true, 0, (EMPTIED, 0)),
        (true, EMPTIED, (EMPTIED, 0)),
        (false, 0, (LEFT, 1)),
        (false, EMPTIED, (LEFT, 1)),
    ] {
        let limit = one_batch(&world, keeps_emptied);
        let bytes = bytes_of(&world.log.read(Offset::new(from), limit).unwrap().unwrap());
        assert_eq!(described(&bytes), [expected], "from {from}, emptied kept: {keeps_emptied}");
    }
}

#[test]
fn a_chunk_of_cold_batches_gives_an_emptied_one_to_followers_alone() {
    let world = overwritten();
    world.compact();
    let path = Path::new(DIR).join(&world.names(".log")[0]);
    world.disk.evict(&path).unwrap();
    let (ranges, from) = (world.log.cold_ranges(), Offset::new(EMPTIED));
    // The pages of headers are cached once the batches are found.
    let whole = ReadLimit { max_bytes: 2 * PAGES as u64, ..one_batch(&world, true) };
    ranges.verify(from, whole).unwrap();
    for (keeps_emptied, expected) in [(true, (EMPTIED, 0)), (false, (LEFT, 1))] {
        let found = ranges.find_in_memory(from, one_batch(&world, keeps_emptied));
        let InMemory::Found { batches, .. } = found else { panic!("{found:?}") };
        assert_eq!(described(&batches), [expected]);
    }
}

#[test]
fn a_follower_of_a_compacted_log_knows_its_producers_as_the_leader_does() {
    // One that begins with an empty log, and one that was down while the rest was written.
    for first in [0, 1] {
        let world = overwritten();
        let follower = follower(&world);
        fetch_below(&world, &follower, first);
        world.compact();
        fetch_below(&world, &follower, world.end);
        let known = |log: &Log| log.tail().active_producers().unwrap();
        assert_eq!(known(&world.log).len(), 2);
        assert_eq!(known(&follower), known(&world.log), "the first {first} were fetched before");
    }
}
