//! Reading the committed directory.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use streamlog::embedded::{Logs, Record, Start};
use streamlog::io::{Disk, ManualClock, MemoryDisk};
use streamlog::storage::{AppendAt, verify_system};
use streamlog::types::{LeaderEpoch, Offset};
use tempfile::TempDir;

use super::files::{copy_to, files_of, fixture, fixture_dir, put};
use super::made::{BATCHES, BEGIN, RECORDS, ROOT, batch, open, partition, time, value};

#[test]
fn every_record_is_there_and_the_directory_lives_on() {
    let copy = TempDir::new().unwrap();
    copy_to(copy.path(), &fixture());
    let logs = Logs::open(copy.path()).unwrap();
    let partition = logs.partition("t", 0).unwrap();
    assert_eq!(partition.log_start_offset(), Offset::new(1));
    let read: Vec<Record> = partition.read(Start::Earliest).unwrap().map(Result::unwrap).collect();
    assert_eq!(read.len(), 2 * BATCHES * RECORDS - 1);
    for (record, place) in read.iter().zip(1_usize..) {
        let (batch, number) = (place / RECORDS, place % RECORDS);
        assert_eq!(record.offset, Offset::new(i64::try_from(place).unwrap()));
        assert_eq!(record.timestamp, time(batch), "{place}");
        assert_eq!(record.key.is_some(), number < 2, "{place}");
        let expected = Some(value(batch, number)).filter(|_| number != 1);
        assert_eq!(record.value.as_deref(), expected.as_ref().map(String::as_bytes), "{place}");
        assert_eq!(record.headers().len(), if number == 0 { 2 } else { 0 }, "{place}");
    }
    let third = Offset::new(i64::try_from(3 * RECORDS).unwrap());
    assert_eq!(partition.first_at(time(3)).unwrap(), Some(third));

    let next = Offset::new(i64::try_from(2 * BATCHES * RECORDS).unwrap());
    assert_eq!(partition.append(["more"]).unwrap().base_offset(), next);
    logs.close().unwrap();
    assert!(
        verify_system(copy.path(), &mut |_| ControlFlow::Continue(()))
            .unwrap()
            .iter()
            .all(|report| report.findings.is_empty())
    );
}

#[test]
fn a_directory_of_a_release_that_kept_one_journal_gains_the_mirror() {
    let copy = TempDir::new().unwrap();
    copy_to(copy.path(), &fixture());
    let metadata = copy.path().join("metadata");
    let name = "00000000000000000001.journal";
    let old = fixture_dir().with_file_name("journal-without-mirror").join(name);
    std::fs::remove_file(metadata.join("00000000000000000001.mirror")).unwrap();
    std::fs::copy(old, metadata.join(name)).unwrap();
    let logs = Logs::open(copy.path()).unwrap();
    assert_eq!(logs.partition("t", 0).unwrap().log_start_offset(), Offset::new(1));
    logs.close().unwrap();
    let sides = ["journal", "mirror"]
        .map(|side| std::fs::read(metadata.join(format!("00000000000000000002.{side}"))).unwrap());
    assert_eq!(sides[0], sides[1]);
    assert!(!metadata.join(name).exists());
}

#[test]
fn verification_finds_the_committed_directory_sound() {
    let [report] = &verify_system(&fixture_dir(), &mut |_| ControlFlow::Continue(())).unwrap()[..]
    else {
        panic!("one log")
    };
    assert!(report.is_sound() && report.findings.is_empty(), "{report:?}");
    let records = u64::try_from(2 * BATCHES * RECORDS).unwrap();
    assert_eq!((report.segments, report.records), (2, records));
}

#[test]
fn its_producer_and_its_leader_epochs_are_known() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
    for (name, bytes) in fixture() {
        put(&*disk, &Path::new(ROOT).join(name), &bytes);
    }
    let data = open(&disk, &Arc::new(ManualClock::at(BEGIN)));
    assert!(data.start_report().was_clean);
    let last = Offset::new(i64::try_from((2 * BATCHES - 1) * RECORDS).unwrap());
    assert_eq!(data.high_watermark(&partition()), Some(last.plus(3)));
    let log = data.log(&partition()).unwrap().unwrap();
    let second = Offset::new(i64::try_from(BATCHES * RECORDS).unwrap());
    assert_eq!(
        log.epochs().end_offset_for(LeaderEpoch(0)).unwrap(),
        Some((LeaderEpoch(0), second))
    );
    log.start_epoch(LeaderEpoch(2)).unwrap();
    let mut again = batch(2 * BATCHES - 1);
    let at = AppendAt { epoch: LeaderEpoch(2), now: BEGIN };
    let outcome = log.append(&mut [again.as_mut_slice()], at).unwrap()[0].unwrap();
    assert!(outcome.is_duplicate, "{outcome:?}");
    assert_eq!(outcome.base_offset, last);
    drop(log);
    assert!(files_of(&*disk, Path::new(ROOT)).len() >= fixture().len() - 1);
}
