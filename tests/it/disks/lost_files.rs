//! Files of a partition that are gone when the broker starts: its records are damaged, and the
//! partition is never shorter than it was.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Disk, MemoryDisk, read_text};
use streamlog::wire::ErrorCode;
use streamlog::wire::delete_records::{self, DeleteRecordsRequest, OffsetRange};
use streamlog::wire::describe_log_dirs::DescribeLogDirsRequest;

use super::small_files::{DATA, SETTINGS, is_found};
use crate::support::{Connection, LocalBroker, TOPIC, batch, values};

const RECORDS: i64 = 160;
const LOG: &str = "/data/test-0";

/// The way in which a broker ended.
#[derive(Clone, Copy, Debug)]
enum End {
    Stopped,
    PowerCut,
}

/// The disk of a broker that has ended with all records flushed and recorded.
fn ended(end: End) -> FaultyDisk {
    let disk = FaultyDisk::new(std::sync::Arc::new(MemoryDisk::default()), 1);
    let broker = LocalBroker::with_topic(disk, SETTINGS);
    let mut client = broker.connect();
    for first in (0..RECORDS.cast_unsigned()).step_by(10) {
        client.produce(batch(first..first + 10), -1).unwrap().unwrap();
    }
    let checkpoint = Path::new("/data/durable-point-checkpoint");
    let is_recorded =
        || read_text(&broker.disk, checkpoint).is_ok_and(|text| text.contains("test 0 160"));
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_recorded() {
        assert!(Instant::now() < deadline, "no checkpoint is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    match end {
        End::Stopped => broker.stop().unwrap(),
        End::PowerCut => broker.cut_power(1),
    }
}

/// The batches of the segments, in order.
fn segments(disk: &FaultyDisk) -> Vec<PathBuf> {
    let entries = disk.list(Path::new(LOG)).unwrap().into_iter();
    let files = entries.map(|entry| Path::new(LOG).join(entry.name));
    files.filter(|file| file.extension().is_some_and(|suffix| suffix == "log")).collect()
}

fn remove(disk: &FaultyDisk, paths: &[PathBuf]) {
    for path in paths {
        disk.remove_file(path).unwrap();
        disk.sync_dir(path.parent().unwrap()).unwrap();
    }
}

fn remove_folder(disk: &FaultyDisk) {
    for entry in disk.list(Path::new(LOG)).unwrap() {
        disk.remove_file(&Path::new(LOG).join(entry.name)).unwrap();
    }
    disk.remove_dir(Path::new(LOG)).unwrap();
    disk.sync_dir(Path::new(DATA)).unwrap();
}

/// The error and the first offset of the records that a fetch returns.
fn fetch(client: &mut Connection, offset: i64) -> (ErrorCode, Option<i64>) {
    client.send_fetch(offset, Duration::ZERO).unwrap();
    let answer = client.receive_records().unwrap();
    (answer.error_code, values(&answer.records).first().map(|(offset, _)| *offset))
}

/// The damaged ranges that the broker lists, and whether they are skipped.
fn listed(client: &mut Connection) -> Vec<(i64, i64, bool)> {
    let request = DescribeLogDirsRequest { with_damage: true, ..Default::default() };
    let mut dir = client.call(4, &request).unwrap().results.remove(0);
    let damaged = dir.topics.remove(0).partitions.remove(0).damaged;
    damaged.iter().map(|range| (range.first_offset, range.next_offset, range.is_skipped)).collect()
}

fn skip(client: &mut Connection, (first_offset, next_offset): (i64, i64)) {
    let skip_damage = OffsetRange { first_offset, next_offset };
    let partition = delete_records::RequestPartition { skip_damage, ..Default::default() };
    let topic =
        delete_records::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let request = DeleteRecordsRequest { topics: vec![topic], timeout_ms: 5_000 };
    let answer = client.call(2, &request).unwrap().topics.remove(0).partitions.remove(0);
    assert_eq!(answer.error_code, ErrorCode::None, "{:?}", answer.error_message);
}

/// The refusal of reads of a damaged range.
const REFUSED: (ErrorCode, Option<i64>) = (ErrorCode::CorruptMessage, None);

#[test]
fn a_partition_without_its_folder_or_segments_is_damaged_as_a_whole() {
    for end in [End::Stopped, End::PowerCut] {
        for is_folder_gone in [true, false] {
            let disk = ended(end);
            assert!(!is_found(&disk), "{end:?}");
            if is_folder_gone {
                remove_folder(&disk);
            } else {
                remove(&disk, &segments(&disk));
            }
            assert!(is_found(&disk), "{end:?}");
            let broker = LocalBroker::on(disk, SETTINGS).unwrap();
            let mut client = broker.connect();
            for offset in [0, 50, RECORDS - 1] {
                assert_eq!(fetch(&mut client, offset), REFUSED, "{end:?} {offset}");
            }
            let refused = client.produce(batch([7]), -1).unwrap();
            assert_eq!(refused, Err(ErrorCode::KafkaStorageError), "{end:?}");
            assert_eq!(listed(&mut client), [(0, RECORDS, false)]);
            drop(client);
            let disk = broker.stop().unwrap();
            assert!(is_found(&disk), "after a start");

            let broker = LocalBroker::on(disk, SETTINGS).unwrap();
            let mut client = broker.connect();
            assert_eq!(fetch(&mut client, 0), REFUSED, "{end:?}");
            skip(&mut client, (0, RECORDS));
            assert_eq!(client.produce(batch([7]), -1).unwrap(), Ok(RECORDS));
            assert_eq!(client.read_from(0).unwrap(), [(RECORDS, 7)]);
            drop(client);
            let broker = LocalBroker::on(broker.cut_power(2), SETTINGS).unwrap();
            let mut client = broker.connect();
            assert_eq!(client.read_from(0).unwrap(), [(RECORDS, 7)]);
            assert_eq!(listed(&mut client), [(0, RECORDS, true)]);
        }
    }
}

#[test]
fn a_partition_without_one_of_its_segments_is_damaged_there_until_the_file_is_back() {
    for end in [End::Stopped, End::PowerCut] {
        for lost in [0, 1] {
            let disk = ended(end);
            let all = segments(&disk);
            let begin = |path: &PathBuf| -> i64 {
                path.file_stem().unwrap().to_str().unwrap().parse().unwrap()
            };
            let (first, next) = (begin(&all[lost]), begin(&all[lost + 1]));
            let away = Path::new("/away.log");
            disk.rename(&all[lost], away).unwrap();
            disk.sync_dir(Path::new(LOG)).unwrap();
            assert!(is_found(&disk), "{end:?}");
            let broker = LocalBroker::on(disk, SETTINGS).unwrap();
            let mut client = broker.connect();
            assert_eq!(listed(&mut client), [(first, next, false)], "{end:?}");
            assert_eq!(fetch(&mut client, first), REFUSED, "{end:?}");
            assert_eq!(fetch(&mut client, next - 1), REFUSED, "{end:?}");
            assert_eq!(fetch(&mut client, next), (ErrorCode::None, Some(next)));
            assert_eq!(client.produce(batch([7]), -1).unwrap(), Ok(RECORDS));
            drop(client);
            let disk = broker.stop().unwrap();
            assert!(is_found(&disk), "after a start");
            disk.rename(away, &all[lost]).unwrap();
            let broker = LocalBroker::on(disk, SETTINGS).unwrap();
            let mut client = broker.connect();
            assert_eq!(client.read_from(0).unwrap().len(), 161, "{end:?}");
            assert_eq!(listed(&mut client), []);
            drop(client);
            assert!(!is_found(&broker.stop().unwrap()));
        }
    }
}
