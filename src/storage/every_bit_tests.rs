//! Every bit of a segment of 64 KiB: a flip of it is found, and the right batch is blamed.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::ByteSize;
use crate::io::{
    Disk, ManualClock, MemoryDisk, OpenFiles, OpenMode, Share, read_exact_at, write_all_at,
};
use crate::record::{BatchBuilder, BatchSettings, Compressor, HEADER_SIZE};
use crate::storage::segments::Medium;
use crate::storage::world_tests::{EPOCH, NOW, at, file};
use crate::storage::{ColdReads, Damage, Log, LogConfig, LogEnv, ProducerLimits, StartPoint};
use crate::types::{Offset, PartitionIndex, TopicPartition};

const SEGMENT: u64 = 64 * 1024;

/// Bytes of each batch; 64 of them fill the segment.
const BATCH: usize = 1024;

/// Without `STREAMLOG_EVERY_BIT`, only one in this many bits of records is flipped.
const SAMPLE: u64 = 61;

fn open(disk: &MemoryDisk, start: StartPoint) -> Log {
    let env = LogEnv {
        disk: Arc::new(disk.clone()),
        files: OpenFiles::new(Arc::new(disk.clone()), Share::Fixed(2)),
        cold_reads: ColdReads::default(),
        reserve: None,
        clock: Arc::new(ManualClock::at(NOW)),
        producers: ProducerLimits::default(),
    };
    let partition = TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) };
    let config = LogConfig { segment_size: ByteSize(SEGMENT), ..LogConfig::default() };
    Log::open(&env, PathBuf::from("/data/t-0"), partition, Arc::new(config), start).unwrap()
}

/// A batch of two records with exactly this many bytes.
fn batch(bytes: usize) -> Vec<u8> {
    let of = |value: usize| {
        let mut builder = BatchBuilder::new();
        for letter in [b'a', b'b'] {
            let value = vec![letter; if letter == b'a' { value } else { 9 }];
            builder.push(NOW, None, Some(&value), &[]).unwrap();
        }
        builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap()
    };
    let value = bytes - of(bytes - 2 * HEADER_SIZE).len() + bytes - 2 * HEADER_SIZE;
    let batch = of(value);
    assert_eq!(batch.len(), bytes);
    batch
}

/// A log whose first segment has 64 KiB, and for each batch in it the damage that a check reports
/// if one of its bits is flipped.
fn filled(disk: &MemoryDisk, is_sealed: bool) -> (Log, Vec<Damage>) {
    disk.create_dir(Path::new("/data")).unwrap();
    let log = open(disk, StartPoint::New);
    log.start_epoch(EPOCH).unwrap();
    let mut damages: Vec<Damage> = Vec::new();
    while log.size_bytes().unwrap() < SEGMENT {
        let mut bytes = batch(BATCH);
        let start = log.size_bytes().unwrap();
        let appended = log.append(&mut [&mut bytes], at()).unwrap()[0].unwrap();
        damages.push(Damage {
            segment: Offset::ZERO,
            start,
            end: log.size_bytes().unwrap(),
            first: appended.base_offset,
            next: appended.next_offset,
        });
    }
    assert_eq!((log.size_bytes().unwrap(), log.checks().segment_bases().len()), (SEGMENT, 1));
    if is_sealed {
        log.tail().roll(NOW).unwrap();
    }
    let marks = log.close().unwrap();
    let (log_start, log_end) = (marks.log_start, marks.durable);
    (open(disk, StartPoint::Clean { log_start, log_end }), damages)
}

/// Checks the first segment from the medium and returns the findings, which the log does not
/// record.
fn found(log: &Log) -> Vec<Damage> {
    let mut check = log.checks().check_segment(Offset::ZERO, Medium::Disk).unwrap().unwrap();
    let mut found = Vec::new();
    while !check.is_done() {
        found.extend(check.advance(u64::MAX).unwrap());
    }
    found
}

fn every_bit(is_sealed: bool) {
    let disk = MemoryDisk::default();
    let (log, damages) = filled(&disk, is_sealed);
    assert_eq!(found(&log), []);
    let is_long = std::env::var_os("STREAMLOG_EVERY_BIT").is_some();
    let batches = disk.open(&file(0, "log"), OpenMode::Write).unwrap();
    let mut flips = 0;
    for damage in &damages {
        let records = (damage.start + HEADER_SIZE as u64) * 8;
        for bit in damage.start * 8..damage.end * 8 {
            if bit >= records && !is_long && bit % SAMPLE != 0 {
                continue;
            }
            let mut byte = [0];
            read_exact_at(&*batches, &mut byte, bit / 8).unwrap();
            let flipped = [byte[0] ^ 1 << (bit % 8)];
            write_all_at(&*batches, &mut [IoSlice::new(&flipped)], bit / 8).unwrap();
            assert_eq!(found(&log), [*damage], "bit {bit}");
            write_all_at(&*batches, &mut [IoSlice::new(&byte)], bit / 8).unwrap();
            flips += 1;
        }
    }
    assert!(flips > 30_000 && (!is_long || flips == SEGMENT * 8), "{flips}");
}

#[test]
fn every_bit_flip_in_a_sealed_segment_is_found() {
    every_bit(true);
}

#[test]
fn every_bit_flip_in_the_active_segment_is_found() {
    every_bit(false);
}
