//! The gaps that compaction leaves between batches, and damage among them.

use std::path::Path;
use std::sync::Arc;

use super::kept_tests::{DIR, compact_below, open};
use super::world_tests::{MUCH, World};
use crate::io::{Disk, OpenMode};
use crate::storage::checked_text::encode;
use crate::storage::compacted::Compacted;
use crate::storage::segments::Medium;
use crate::storage::{Damage, Log, ReadLimit, StartPoint, StorageError, small_file};
use crate::types::Offset;

#[test]
fn a_truncation_in_a_gap_ends_the_log_at_the_preceding_batch() {
    let mut world = World::new();
    world.append(&["a=1"]);
    world.append(&["b=1"]);
    world.append(&["b=2"]);
    world.append(&["c=1"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["0:a=1", "2:b=2", "3:c=1"]);
    assert_eq!(world.log.truncator().cut(Offset::new(2)).unwrap(), Offset::new(1));
    world.end = 1;
    assert_eq!(world.left(), ["0:a=1"]);
    world.append(&["b=3"]);
    world.roll();
    world.reopen();
    assert_eq!(world.left(), ["0:a=1", "1:b=3"]);
    let known = Compacted::load(&world.disk, Path::new(DIR)).unwrap();
    assert_eq!(known.clean_below, Offset::new(1));
}

/// A compacted log of one closed segment, without every second offset, and its batches: the
/// position and the first offset of each.
fn with_gaps() -> (World, Vec<(u64, i64)>) {
    let mut world = World::new();
    for number in 0..24 {
        let unique = format!("k{number}=v");
        world.append(&[if number % 2 == 0 { &unique } else { "x=v" }]);
    }
    world.roll();
    world.compact();
    let places = batches_of(&world.log);
    assert!(places.windows(2).filter(|pair| pair[1].1 - pair[0].1 == 2).count() > 9, "{places:?}");
    (world, places)
}

fn batches_of(log: &Log) -> Vec<(u64, i64)> {
    let segments = log.segments();
    let mut batches = segments[0].batches().unwrap();
    let mut places = Vec::new();
    while let Some((place, _)) = batches.next().unwrap() {
        places.push((place.position, place.summary.base_offset.get()));
    }
    places
}

/// The findings of a check of the first segment, read from the medium; nothing is recorded.
fn found_in_first(log: &Log) -> Vec<Damage> {
    let mut check = log.checks().check_segment(Offset::ZERO, Medium::Disk).unwrap().unwrap();
    let mut found = Vec::new();
    while !check.is_done() {
        found.extend(check.advance(u64::MAX).unwrap());
    }
    found
}

/// The bytes of a header that its batch's checksum does not cover: all before the checksum.
const UNCOVERED: u64 = 17;

#[test]
fn a_flipped_bit_outside_the_checksum_is_found_among_gaps_and_only_its_batch_is_blamed() {
    let (world, places) = with_gaps();
    let path = Path::new(DIR).join("00000000000000000000.log");
    let size = world.disk.open(&path, OpenMode::Read).unwrap().len().unwrap();
    assert_eq!(found_in_first(&world.log), []);
    for (number, (start, base)) in places.iter().enumerate() {
        let (end, next) = places.get(number + 1).copied().unwrap_or((size, 24));
        let first = if number == 0 { 0 } else { places[number - 1].1 + 1 };
        let expected = Damage {
            segment: Offset::ZERO,
            start: *start,
            end,
            first: Offset::new(first),
            next: Offset::new(next),
        };
        for bit in 0..UNCOVERED * 8 {
            let (byte, bit_of_byte) = (start + bit / 8, u8::try_from(bit % 8).unwrap());
            world.disk.flip_bit(&path, byte, bit_of_byte).unwrap();
            assert_eq!(found_in_first(&world.log), [expected], "bit {bit} of offset {base}");
            world.disk.flip_bit(&path, byte, bit_of_byte).unwrap();
        }
    }
}

#[test]
fn a_reader_of_a_compacted_log_gets_no_record_with_a_wrong_offset() {
    for after_a_start in [false, true] {
        let (mut world, places) = with_gaps();
        if after_a_start {
            world.reopen();
        }
        let (start, base) = places[5];
        let path = Path::new(DIR).join("00000000000000000000.log");
        // Offset 10 becomes 11, which compaction has removed.
        world.disk.flip_bit(&path, start + 7, 0).unwrap();
        let limit = ReadLimit {
            max_bytes: MUCH,
            below: Offset::new(world.end),
            at_least_one_batch: true,
            keeps_emptied: false,
        };
        let refused = world.log.read(Offset::new(base), limit);
        assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
        let damages = world.log.checks().damages();
        assert_eq!(damages.len(), 1, "{damages:?}");
        assert_eq!((damages[0].start, damages[0].next), (start, Offset::new(places[6].1)));
        assert!(world.log.read(Offset::new(places[6].1), limit).unwrap().is_some());
    }
}

#[test]
fn in_a_log_with_gaps_sent_bytes_are_checked_again_by_their_header_digest() {
    let (world, places) = with_gaps();
    let limit = ReadLimit {
        max_bytes: MUCH,
        below: Offset::new(world.end),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    let path = Path::new(DIR).join("00000000000000000000.log");
    let range = world.log.read(Offset::ZERO, limit).unwrap().unwrap();
    let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
    range.file.read_checked(&mut bytes, range.position).unwrap();
    for (start, base) in &places {
        for bit in 0..UNCOVERED * 8 {
            let (byte, bit_of_byte) = (start + bit / 8, u8::try_from(bit % 8).unwrap());
            world.disk.flip_bit(&path, byte, bit_of_byte).unwrap();
            let refused = range.file.read_checked(&mut bytes, range.position);
            assert!(refused.is_err(), "bit {bit} of offset {base}");
            world.disk.flip_bit(&path, byte, bit_of_byte).unwrap();
        }
    }
    // Known damage does not prevent the batches after it from being sent.
    world.disk.flip_bit(&path, places[5].0 + 7, 0).unwrap();
    assert!(world.log.read(Offset::new(places[5].1), limit).is_err());
    let range = world.log.read(Offset::new(places[6].1), limit).unwrap().unwrap();
    let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
    range.file.read_checked(&mut bytes, range.position).unwrap();
}

#[test]
fn a_seal_of_an_earlier_release_gains_digests_at_the_first_check() {
    let (mut world, places) = with_gaps();
    let path = Path::new(DIR).join("00000000000000000000.seal");
    let disk: Arc<dyn Disk> = Arc::new(world.disk.clone());
    let text = String::from_utf8(small_file::read(&*disk, &path).unwrap().unwrap()).unwrap();
    let row = text.lines().nth(2).unwrap().to_owned();
    assert!(text.lines().count() > 4, "{text}");
    let marks = world.log.close().unwrap();
    small_file::replace(&*disk, &path, encode(0, [&row].into_iter()).as_bytes()).unwrap();
    let start = StartPoint::Clean { log_start: marks.log_start, log_end: marks.durable };
    world.log = open(Arc::clone(&disk), &world.clock, &world.config, start).unwrap();
    let mut check = world.log.checks().check_segment(Offset::ZERO, Medium::Disk).unwrap().unwrap();
    assert_eq!(check.advance(u64::MAX).unwrap(), []);
    world.log.checks().keep_digests(&check);
    let gained = String::from_utf8(small_file::read(&*disk, &path).unwrap().unwrap()).unwrap();
    assert_eq!(gained, text);
    let batches = Path::new(DIR).join("00000000000000000000.log");
    world.disk.flip_bit(&batches, places[5].0 + 7, 0).unwrap();
    assert_eq!(found_in_first(&world.log).len(), 1);
}

#[test]
fn nothing_is_compacted_by_a_wrong_offset() {
    let (mut world, places) = with_gaps();
    for key in ["k2=new", "x=newer"] {
        world.append(&[key]);
    }
    world.roll();
    let path = Path::new(DIR).join("00000000000000000000.log");
    world.disk.flip_bit(&path, places[5].0 + 7, 0).unwrap();
    let now = crate::io::Clock::now(&*world.clock);
    let refused = compact_below(&world.log, Offset::new(world.end), now, MUCH);
    assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
    assert_eq!(world.log.checks().damages().len(), 1);
}
