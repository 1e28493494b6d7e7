//! Reads of cold batches past the page cache, on a disk whose page cache can be emptied.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

use crate::io::faulty::{Failure, Fault, Operation};
use crate::io::{DirectBuffer, SeededRandom};
use crate::record::Batches;
use crate::storage::world_tests::{World, append, append_batch, at, batch, bytes_of, file};
use crate::storage::{Damage, InMemory, Log, OffsetUnit, ReadLimit, StorageError};
use crate::types::Offset;

/// The size of a segment: two chunks and a part, so that a file ends within a block.
const SEGMENT: u64 = 5 << 20;

/// The size of an ordinary read.
const MAX_BYTES: u64 = 1 << 20;

/// A log, the bytes of its batches by base offset, and the bases of its segments.
struct Cold {
    world: World,
    log: Log,
    batches: BTreeMap<i64, Vec<u8>>,
    segments: Vec<i64>,
}

impl Cold {
    /// Two finished segments and the active one, flushed, with batches of random sizes; nothing is
    /// in the page cache.
    fn new(seed: u64) -> Self {
        let world = World::with_segments_of(SEGMENT);
        let log = world.start();
        let mut random = SeededRandom::new(seed);
        let mut batches = BTreeMap::new();
        while log.checks().segment_bases().len() < 3 {
            let value = "v".repeat(1 + random.index(60_000));
            let bytes = batch(&vec![value.as_str(); 1 + random.index(3)]);
            let appended = append_batch(&log, bytes.clone(), at()).unwrap();
            batches.insert(appended.base_offset.get(), bytes);
        }
        log.flush().unwrap();
        let segments = world.segments();
        let cold = Self { world, log, batches, segments };
        cold.evict();
        cold
    }

    fn evict(&self) {
        for base in &self.segments {
            self.world.disk.evict(&file(*base, "log")).unwrap();
        }
    }

    fn limit(&self, max_bytes: u64) -> ReadLimit {
        let below = self.log.log_end_offset();
        ReadLimit { max_bytes, below, at_least_one_batch: true, keeps_emptied: false }
    }

    fn find(&self, from: i64) -> InMemory {
        self.log.cold_ranges().find_in_memory(Offset::new(from), self.limit(MAX_BYTES))
    }

    fn verify(&self, from: i64) -> Result<(), StorageError> {
        self.log.cold_ranges().verify(Offset::new(from), self.limit(MAX_BYTES))
    }

    /// The batches from `from` on, which must come from a chunk.
    fn cold(&self, from: i64) -> Bytes {
        self.verify(from).unwrap();
        match self.find(from) {
            InMemory::Found { batches, .. } => batches,
            other => panic!("{other:?} at {from}"),
        }
    }

    /// Returns true if all bytes of a read of up to `MAX_BYTES` are in the page cache and verified.
    fn is_in_page_cache(&self, from: i64) -> bool {
        let extent = self.log.reads().find_extent(Offset::new(from), self.limit(MAX_BYTES));
        extent.unwrap().unwrap().is_verified()
    }

    /// Asserts that these are sound batches with the offsets and sizes of those appended, beginning
    /// with the batch that contains `from`. Returns the offset after them.
    fn assert_batches(&self, from: i64, bytes: &[u8]) -> i64 {
        let first = *self.batches.range(..=from).next_back().unwrap().0;
        let mut known = self.batches.range(first..);
        let mut next = None;
        for found in Batches::new(bytes) {
            let found = found.unwrap();
            let (base, known) = known.next().unwrap();
            assert_eq!(found.base_offset().get(), *base);
            assert!(found.checksum_matches());
            assert_eq!(found.size(), known.len());
            next = Some(found.next_offset().get());
        }
        next.expect("at least a batch")
    }

    fn buffers(&self) -> usize {
        self.log.context().cold_reads.buffers()
    }
}

#[test]
fn a_cold_log_is_read_in_full_past_the_page_cache() {
    for seed in 0..4 {
        let cold = Cold::new(seed);
        let mut random = SeededRandom::new(seed);
        let active = *cold.segments.last().unwrap();
        let mut next = 0;
        while next < active {
            let limit = cold.limit([1, 70_000, MAX_BYTES, 16 << 20][random.index(4)]);
            cold.log.cold_ranges().verify(Offset::new(next), limit).unwrap();
            let found = cold.log.cold_ranges().find_in_memory(Offset::new(next), limit);
            let InMemory::Found { batches, read_ahead } = found else {
                panic!("seed {seed}: {found:?} at {next}");
            };
            let is_single = Batches::new(&batches).count() == 1;
            assert!(is_single || batches.len() as u64 <= limit.max_bytes, "seed {seed}");
            next = cold.assert_batches(next, &batches);
            if let Some(from) = read_ahead.filter(|_| random.chance(2)) {
                cold.log.cold_ranges().read_ahead(from);
            }
        }
        assert_eq!(next, active, "seed {seed}");
        assert!(cold.world.disk.calls(Operation::ReadDirect) >= 6, "seed {seed}");
        for base in &cold.segments[..2] {
            let is_left_alone = !cold.is_in_page_cache(*base);
            assert!(is_left_alone, "seed {seed}: the segment from {base} on");
        }
    }
}

#[test]
fn a_batch_is_found_by_any_of_its_offsets() {
    let cold = Cold::new(1);
    for (base, bytes) in cold.batches.range(..cold.segments[1]) {
        let count = i64::from(Batches::new(bytes).next().unwrap().unwrap().record_count());
        for from in *base..base + count {
            cold.assert_batches(from, &cold.cold(from));
        }
    }
}

#[test]
fn a_sequential_reader_finds_the_next_chunk_in_memory() {
    let cold = Cold::new(2);
    let next = cold.assert_batches(0, &cold.cold(0));
    let InMemory::Found { batches, read_ahead: Some(ahead) } = cold.find(next) else {
        panic!("its second read of the chunk shows that it is sequential");
    };
    let mut next = cold.assert_batches(next, &batches);
    cold.log.cold_ranges().read_ahead(ahead);
    let before = cold.world.disk.calls(Operation::ReadDirect);
    while next <= ahead.get() {
        let InMemory::Found { batches, .. } = cold.find(next) else { panic!("at {next}") };
        next = cold.assert_batches(next, &batches);
    }
    assert_eq!(cold.world.disk.calls(Operation::ReadDirect), before);
}

#[test]
fn batches_beyond_the_limit_are_withheld() {
    let cold = Cold::new(3);
    cold.verify(0).unwrap();
    let below = *cold.batches.keys().nth(3).unwrap();
    let limit = |below| ReadLimit { below: Offset::new(below), ..cold.limit(MAX_BYTES) };
    let InMemory::Found { batches, .. } =
        cold.log.cold_ranges().find_in_memory(Offset::ZERO, limit(below))
    else {
        panic!("it is in memory");
    };
    assert_eq!(cold.assert_batches(0, &batches), below);
    let none = ReadLimit { max_bytes: 1, at_least_one_batch: false, ..cold.limit(1) };
    for limit in [limit(0), none] {
        let found = cold.log.cold_ranges().find_in_memory(Offset::ZERO, limit);
        assert!(matches!(&found, InMemory::Found { batches, .. } if batches.is_empty()));
    }
}

#[test]
fn rot_on_the_medium_never_leaves_and_is_recorded() {
    let cold = Cold::new(4);
    let number = 20;
    let (rotten, bytes) = cold.batches.iter().nth(number).unwrap();
    let start: usize = cold.batches.values().take(number).map(Vec::len).sum();
    let (start, end) = (start as u64, (start + bytes.len()) as u64);
    let after = rotten + i64::from(Batches::new(bytes).next().unwrap().unwrap().record_count());
    assert!(start > 0 && end < SEGMENT);
    for byte in [7, 11, 15, 16, 17, 26, bytes.len() as u64 - 1] {
        let cold = Cold::new(4);
        cold.world.disk.flip_bit(&file(0, "log"), start + byte, 3).unwrap();
        let mut next = 0;
        while next < *rotten {
            cold.verify(next).unwrap();
            next = if let InMemory::Found { batches, .. } = cold.find(next) {
                cold.assert_batches(next, &batches)
            } else {
                let range = cold.log.read(Offset::new(next), cold.limit(MAX_BYTES));
                cold.assert_batches(next, &bytes_of(&range.unwrap().unwrap()))
            };
        }
        assert_eq!(next, *rotten, "byte {byte}: all batches before it are served");
        let refused = cold.verify(next);
        assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "byte {byte}: {refused:?}");
        let segment = Offset::ZERO;
        let (first, after) = (Offset::new(*rotten), Offset::new(after));
        assert_eq!(
            cold.log.checks().damages(),
            [Damage { segment, start, end, first, next: after }]
        );
        cold.assert_batches(after.get(), &{
            cold.verify(after.get()).unwrap();
            let range = cold.log.read(after, cold.limit(MAX_BYTES)).unwrap().unwrap();
            bytes_of(&range)
        });
    }
}

#[test]
fn a_second_reader_brings_the_bytes_into_the_page_cache() {
    let cold = Cold::new(5);
    cold.cold(0);
    cold.world.clock.advance(Duration::from_secs(5));
    cold.log.context().cold_reads.release_idle(Duration::from_secs(5));
    assert!(matches!(cold.find(0), InMemory::Absent));
    cold.verify(0).unwrap();
    assert!(matches!(cold.find(0), InMemory::Absent));
    assert!(cold.is_in_page_cache(0));

    cold.evict();
    cold.world.clock.advance(Duration::from_mins(10));
    cold.cold(0);
}

#[test]
fn a_disk_without_direct_reads_is_read_through_the_page_cache() {
    for failure in [Failure::InputOutput, Failure::TooManyOpenFiles] {
        let cold = Cold::new(6);
        cold.world.disk.inject(Fault::new(Operation::ReadDirect, failure).for_ever());
        cold.verify(0).unwrap();
        assert!(matches!(cold.find(0), InMemory::Absent));
        assert!(cold.is_in_page_cache(0));
        assert!(cold.log.checks().damages().is_empty());
    }
}

#[test]
fn a_bit_that_flips_on_the_way_from_the_medium_is_no_damage() {
    let cold = Cold::new(6);
    let failure = Failure::FlipBit { byte: 9000, bit: 1 };
    cold.world.disk.inject(Fault::new(Operation::ReadDirect, failure));
    cold.verify(0).unwrap();
    assert!(matches!(cold.find(0), InMemory::Absent));
    assert!(cold.is_in_page_cache(0) && cold.log.checks().damages().is_empty());
}

#[test]
fn the_active_segment_is_read_through_the_page_cache() {
    let cold = Cold::new(7);
    let active = *cold.segments.last().unwrap();
    cold.verify(active).unwrap();
    assert_eq!(cold.world.disk.calls(Operation::ReadDirect), 0);
    assert!(cold.is_in_page_cache(active));
}

#[test]
fn bytes_in_the_page_cache_are_read_from_there() {
    let cold = Cold::new(8);
    let reopened = cold.world.reopen(&cold.log);
    let limit = cold.limit(MAX_BYTES);
    for base in &cold.segments {
        // Read the whole file into the page cache, without a check.
        cold.world.bytes(&file(*base, "log"));
    }
    reopened.cold_ranges().verify(Offset::ZERO, limit).unwrap();
    assert_eq!(cold.world.disk.calls(Operation::ReadDirect), 0);
    assert!(matches!(reopened.cold_ranges().find_in_memory(Offset::ZERO, limit), InMemory::Absent));
}

#[test]
fn a_reader_that_reaches_the_page_cache_goes_on_there() {
    let cold = Cold::new(8);
    let second = cold.segments[1];
    cold.world.bytes(&file(second, "log"));
    let before = *cold.batches.range(..second).next_back().unwrap().0;
    cold.cold(before);
    let direct = cold.world.disk.calls(Operation::ReadDirect);
    cold.log.cold_ranges().read_ahead(Offset::new(second));
    cold.verify(second).unwrap();
    assert_eq!(cold.world.disk.calls(Operation::ReadDirect), direct);
    assert!(cold.is_in_page_cache(second));
}

#[test]
fn memory_is_bounded_however_many_answers_wait_to_be_sent() {
    let cold = Cold::new(9);
    let starts: Vec<i64> = cold.batches.keys().copied().collect();
    let mut unsent = Vec::new();
    for from in starts.into_iter().step_by(10) {
        cold.world.clock.advance(Duration::from_mins(11));
        cold.evict();
        cold.log.context().cold_reads.release_idle(Duration::MAX);
        cold.verify(from).unwrap();
        if let InMemory::Found { batches, .. } = cold.find(from) {
            unsent.push(batches);
        }
        assert!(cold.buffers() <= 12);
    }
    assert_eq!(unsent.len(), 12, "the others went through the page cache");
    drop(unsent);
    cold.log.context().cold_reads.release_idle(Duration::MAX);
    assert_eq!(cold.buffers(), 0, "idle memory is freed");
}

#[test]
fn a_truncated_segment_is_not_served_from_memory() {
    let cold = Cold::new(10);
    cold.cold(0);
    let cut = *cold.batches.keys().nth(2).unwrap();
    cold.log.truncator().cut(Offset::new(cut)).unwrap();
    assert!(matches!(cold.find(0), InMemory::Absent), "it is the active one now");
    while cold.log.checks().segment_bases().len() < 2 {
        append(&cold.log, &["w".repeat(50_000).as_str()]);
    }
    cold.log.flush().unwrap();
    assert!(matches!(cold.find(cut), InMemory::Absent), "it has other batches there");
    let range = cold.log.read(Offset::new(cut), cold.limit(MAX_BYTES)).unwrap().unwrap();
    assert!(bytes_of(&range).windows(4).any(|text| text == b"wwww"));
}

#[test]
fn a_log_whose_offsets_count_bytes_is_read_through_the_page_cache() {
    let mut world = World::with_segments_of(4 * DirectBuffer::ALIGNMENT as u64);
    world.config.offset_unit = OffsetUnit::Byte;
    let log = world.start();
    while log.checks().segment_bases().len() < 2 {
        append(&log, &["v".repeat(1000).as_str()]);
    }
    log.flush().unwrap();
    world.disk.evict(&file(0, "log")).unwrap();
    let below = log.log_end_offset();
    let limit =
        ReadLimit { max_bytes: MAX_BYTES, below, at_least_one_batch: true, keeps_emptied: false };
    log.cold_ranges().verify(Offset::ZERO, limit).unwrap();
    assert!(log.reads().find_extent(Offset::ZERO, limit).unwrap().unwrap().is_verified());
}
