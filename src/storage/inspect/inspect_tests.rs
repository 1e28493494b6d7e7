//! Tests of verifying and dumping files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::ByteSize;
use crate::io::{Disk, ManualClock, MemoryDisk, OpenFiles, OpenMode, Share};
use crate::record::{BatchBuilder, BatchSettings, Compression, Compressor};
use crate::storage::{
    AppendAt, ColdReads, Finding, Flaw, Log, LogConfig, LogEnv, LogReport, ProducerLimits,
    SegmentDump, StartPoint, small_file, verify,
};
use crate::types::{LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicPartition};

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
const LOG: &str = "/data/web-0";
const FIRST: &str = "/data/web-0/00000000000000000000.log";

/// A closed log of 40 batches of three records each in several segments and two epochs.
fn disk_with_log() -> MemoryDisk {
    let disk = MemoryDisk::default();
    disk.create_dir(Path::new("/data")).unwrap();
    let env = LogEnv {
        disk: Arc::new(disk.clone()),
        files: OpenFiles::new(Arc::new(disk.clone()), Share::Fixed(2)),
        cold_reads: ColdReads::default(),
        reserve: None,
        clock: Arc::new(ManualClock::at(NOW)),
        producers: ProducerLimits::default(),
    };
    let topic = "web".parse().unwrap();
    let partition = TopicPartition { topic, partition: PartitionIndex(0) };
    let config = LogConfig {
        segment_size: ByteSize(1_500),
        index_interval: ByteSize(200),
        ..LogConfig::default()
    };
    let dir = PathBuf::from(LOG);
    let log = Log::open(&env, dir, partition, Arc::new(config), StartPoint::New).unwrap();
    for number in 0..40 {
        let epoch = LeaderEpoch(1 + i32::from(number >= 20));
        if number % 20 == 0 {
            log.start_epoch(epoch).unwrap();
        }
        let mut batch = batch(number);
        log.append(&mut [&mut batch], AppendAt { epoch, now: NOW }).unwrap();
    }
    log.close().unwrap();
    let text = "version: 0\ntopic_id: BwcHBwcHBwcHBwcHBwcHBw\noffset_unit: record\n";
    let text = format!("{text}crc: {:08x}\n", crc32c::crc32c(text.as_bytes()));
    small_file::write_new(&disk, &Path::new(LOG).join("partition.metadata"), text.as_bytes())
        .unwrap();
    disk
}

fn batch(number: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for record in 0..3 {
        let time = Timestamp::from_millis(NOW.millis() + number * 10 + record);
        let value = format!("value {number}.{record}");
        builder.push(time, Some(b"key"), Some(value.as_bytes()), &[]).unwrap();
    }
    let compression = if number % 2 == 0 { Compression::None } else { Compression::Lz4 };
    let mut compressor = Compressor::new(compression, None).unwrap();
    builder.build(&BatchSettings::default(), &mut compressor).unwrap()
}

fn verified(disk: &MemoryDisk, dir: &str) -> LogReport {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut reports = verify(&disk, Path::new(dir)).unwrap();
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

fn flip(disk: &MemoryDisk, path: &str, position: usize) {
    let mut bytes = small_file::read(disk, Path::new(path)).unwrap().unwrap();
    bytes[position] ^= 0x20;
    small_file::write_new(disk, Path::new(path), &bytes).unwrap();
}

fn durable_point(disk: &MemoryDisk, offset: i64) {
    let text = format!("0\n1\nweb 0 {offset}\n");
    let text = format!("{text}crc {:08x}\n", crc32c::crc32c(text.as_bytes()));
    let path = Path::new("/data/durable-point-checkpoint");
    small_file::write_new(disk, path, text.as_bytes()).unwrap();
}

fn segments(disk: &MemoryDisk) -> Vec<PathBuf> {
    let entries = disk.list(Path::new(LOG)).unwrap();
    let paths = entries.into_iter().map(|entry| Path::new(LOG).join(entry.name));
    paths.filter(|path| path.extension().is_some_and(|suffix| suffix == "log")).collect()
}

#[test]
fn a_sound_log_is_counted() {
    let disk = disk_with_log();
    for dir in [LOG, "/data"] {
        let report = verified(&disk, dir);
        assert!(report.is_sound(), "{:?}", report.findings);
        assert_eq!((report.batches, report.records, report.gaps), (40, 120, 0));
        assert_eq!(report.first_offset, Some(Offset::ZERO));
        assert_eq!(report.next_offset, Offset::new(120));
        assert!(report.segments > 2);
        let sizes: usize = (0..40).map(|number| batch(number).len()).sum();
        assert_eq!(report.bytes, sizes as u64);
    }
}

#[test]
fn a_flipped_bit_anywhere_in_a_segment_is_found() {
    let disk = disk_with_log();
    let length = small_file::read(&disk, Path::new(FIRST)).unwrap().unwrap().len();
    for position in 0..length {
        flip(&disk, FIRST, position);
        let report = verified(&disk, LOG);
        assert!(!report.is_sound(), "byte {position} was changed unnoticed");
        flip(&disk, FIRST, position);
    }
    assert!(verified(&disk, LOG).is_sound());
}

#[test]
fn damage_is_named_with_its_place_and_the_rest_is_still_checked() {
    let disk = disk_with_log();
    let second = batch(0).len();
    flip(&disk, FIRST, second + 70);
    let report = verified(&disk, LOG);
    let finding = &report.findings[0];
    assert_eq!((finding.path.as_path(), finding.position), (Path::new(FIRST), second as u64));
    let third = (second + batch(1).len()) as u64;
    assert!(matches!(finding.flaw, Flaw::Batch { good_again: Some(at), .. } if at == third));
    assert_eq!(report.batches, 39);
}

#[test]
fn a_missing_segment_shows_as_a_gap() {
    let disk = disk_with_log();
    disk.remove_file(&segments(&disk)[1]).unwrap();
    assert_eq!(verified(&disk, LOG).gaps, 1);
}

#[test]
fn a_segment_without_its_batches_is_found_in_the_middle_and_at_either_end() {
    for index in [0, 1, segments(&disk_with_log()).len() - 1] {
        let disk = disk_with_log();
        durable_point(&disk, 120);
        disk.remove_file(&segments(&disk)[index]).unwrap();
        let findings = verified(&disk, "/data").findings;
        let missing = findings.iter().filter(|f| matches!(f.flaw, Flaw::Missing { .. }));
        assert_eq!(missing.count(), 1, "segment {index}: {findings:?}");
        assert!(findings.iter().any(|f| matches!(f.flaw, Flaw::File(_))), "{findings:?}");
    }
}

#[test]
fn a_changed_bit_of_a_small_file_is_found() {
    let disk = disk_with_log();
    let names = disk.list(Path::new(LOG)).unwrap().into_iter().map(|entry| entry.name);
    let extension = |name: &String| Path::new(name).extension().map(ToOwned::to_owned);
    let small =
        |name: &String| extension(name).is_some_and(|word| word == "seal" || word == "snapshot");
    let names: Vec<_> = names.filter(small).collect();
    assert!(names.len() > 2, "{names:?}");
    for name in names {
        let path = Path::new(LOG).join(&name);
        let sound = small_file::read(&disk, &path).unwrap().unwrap();
        for bit in 0..sound.len() * 8 {
            let mut bytes = sound.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            small_file::write_new(&disk, &path, &bytes).unwrap();
            assert!(!verified(&disk, LOG).is_sound(), "bit {bit} of {name}");
        }
        small_file::write_new(&disk, &path, &sound).unwrap();
    }
}

#[test]
fn a_torn_tail_is_no_damage_above_the_durable_point() {
    let disk = disk_with_log();
    let file = disk.open(segments(&disk).last().unwrap(), OpenMode::Write).unwrap();
    file.set_len(file.len().unwrap() - 1).unwrap();
    for (durable, is_sound) in [(60, true), (117, true), (118, false)] {
        durable_point(&disk, durable);
        let report = verified(&disk, "/data");
        assert_eq!(report.is_sound(), is_sound, "{durable}: {:?}", report.findings);
        assert_eq!(report.findings.len(), 1);
    }
}

#[test]
fn an_index_that_points_elsewhere_is_found() {
    let disk = disk_with_log();
    for (name, size) in [("00000000000000000000.index", 8), ("00000000000000000000.timeindex", 12)]
    {
        let path = format!("{LOG}/{name}");
        let length = small_file::read(&disk, Path::new(&path)).unwrap().unwrap().len();
        assert!(length >= size, "{name} has no entry");
        for position in 0..length {
            flip(&disk, &path, position);
            let report = verified(&disk, LOG);
            let reaches = position >= size || !report.is_sound();
            assert!(reaches, "byte {position} of {name} was changed unnoticed");
            flip(&disk, &path, position);
        }
    }
}

#[test]
fn a_wrong_epoch_history_is_found() {
    let disk = disk_with_log();
    let path = Path::new(LOG).join("leader-epoch-checkpoint");
    small_file::write_new(&disk, &path, b"0\n2\n1 0\n2 57\n").unwrap();
    let report = verified(&disk, LOG);
    assert!(matches!(report.findings[0].flaw, Flaw::EpochHistory { .. }), "{:?}", report.findings);
    small_file::write_new(&disk, &path, b"0\n2\n1 0\n").unwrap();
    assert!(matches!(verified(&disk, LOG).findings[0].flaw, Flaw::File(_)));
}

#[test]
fn a_dump_shows_every_batch_and_record() {
    let disk = disk_with_log();
    let mut dump = SegmentDump::open(&disk, Path::new(FIRST)).unwrap();
    let (mut number, mut position) = (0, 0);
    while let Some(batch) = dump.next_batch().unwrap() {
        let batch = batch.unwrap();
        assert_eq!((batch.position, batch.record_count), (position, 3));
        assert_eq!(batch.base_offset, Offset::new(number * 3));
        let mut records = Vec::new();
        let take = |record| {
            records.push(record);
            ControlFlow::Continue(())
        };
        batch.for_each_record(&mut { take }).unwrap();
        for (index, record) in (0..).zip(&records) {
            assert_eq!(record.offset, Offset::new(number * 3 + index));
            assert_eq!(record.timestamp.millis(), NOW.millis() + number * 10 + index);
            assert_eq!(record.value.as_deref(), Some(format!("value {number}.{index}").as_bytes()));
        }
        number += 1;
        position += batch.size as u64;
    }
    assert!(number > 2);
}

#[test]
fn a_dump_goes_on_after_damage() {
    let disk = disk_with_log();
    flip(&disk, FIRST, 100);
    let mut dump = SegmentDump::open(&disk, Path::new(FIRST)).unwrap();
    let finding = dump.next_batch().unwrap().unwrap().unwrap_err();
    assert_eq!(finding.position, 0);
    let next = dump.next_batch().unwrap().unwrap().unwrap();
    assert_eq!(next.base_offset, Offset::new(3));
}

/// Renames the files of a segment, as retention does when it removes the segment.
fn remove_as_retention_does(disk: &MemoryDisk, segment: &Path) {
    let stem = segment.file_stem().unwrap().to_str().unwrap();
    for entry in disk.list(Path::new(LOG)).unwrap() {
        if entry.name.starts_with(stem) && !entry.name.ends_with(".snapshot") {
            let path = Path::new(LOG).join(&entry.name);
            let to = Path::new(LOG).join(format!("{}.deleted", entry.name));
            disk.rename(&path, &to).unwrap();
        }
    }
}

#[test]
fn segments_removed_by_retention_right_before_a_crash_are_not_missing() {
    let disk = disk_with_log();
    durable_point(&disk, 120);
    let segments = segments(&disk);
    for segment in &segments[..2] {
        assert!(verified(&disk, "/data").is_sound());
        remove_as_retention_does(&disk, segment);
    }
    let report = verified(&disk, "/data");
    assert!(report.is_sound(), "{:?}", report.findings);
}

#[test]
fn a_lost_first_segment_is_missing_although_another_was_removed_before_it() {
    let disk = disk_with_log();
    durable_point(&disk, 120);
    let segments = segments(&disk);
    disk.remove_file(&segments[0]).unwrap();
    assert!(!verified(&disk, "/data").is_sound(), "nothing was removed by retention");
    let disk = disk_with_log();
    durable_point(&disk, 120);
    remove_as_retention_does(&disk, &segments[0]);
    disk.remove_file(&segments[1]).unwrap();
    let report = verified(&disk, "/data");
    let is_missing = |finding: &&Finding| matches!(finding.flaw, Flaw::Missing { .. });
    let finding = report.findings.iter().find(is_missing).unwrap();
    let number = |path: &Path| path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let (lost, next) = (Offset::new(number(&segments[1])), Offset::new(number(&segments[2])));
    assert!(
        matches!(finding.flaw, Flaw::Missing { first, next: end } if (first, end) == (lost, next)),
        "{finding}"
    );
}
