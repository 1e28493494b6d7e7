//! Reads of records that are no longer in memory: only their readers wait for the disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use streamlog::io::Disk;
use streamlog::io::faulty::{FaultyDisk, Operation};
use streamlog::wire::ErrorCode;

use crate::support::{Connection, LocalBroker, batch, set_topic, values};

/// The size from which reads are slow.
const LARGE: usize = 64 * 1024;

/// The number of records of a larger batch.
const MANY: u64 = 10_000;

const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn cold_reads_do_not_delay_other_clients() {
    let broker = LocalBroker::new(1, &[]);
    let mut other = broker.connect();
    assert_eq!(other.produce(batch(0..MANY), -1).unwrap(), Ok(0));
    let end = i64::try_from(MANY).unwrap();
    other.set_patience(PATIENCE);

    let hold = broker.disk.hold_reads(LARGE);
    // More readers than threads for cold reads.
    let mut cold: Vec<Connection> = (0..10).map(|_| broker.connect()).collect();
    for reader in &mut cold {
        reader.send_fetch(0, Duration::ZERO).unwrap();
    }
    assert!(hold.wait_for(4, PATIENCE), "nobody reads for them");
    for number in 0..20 {
        let offset = end + i64::try_from(number).unwrap();
        assert_eq!(other.produce(batch([number]), -1).unwrap(), Ok(offset));
        assert_eq!(other.read_from(offset).unwrap(), [(offset, number)]);
    }

    drop(hold);
    for mut reader in cold {
        assert_eq!(values(&reader.receive_records().unwrap().records)[..2], [(0, 0), (1, 1)]);
    }
    broker.stop().unwrap();
}

/// The finished segments of the test's partition, oldest first.
fn finished_segments(disk: &FaultyDisk) -> Vec<PathBuf> {
    let dir = Path::new("/data/test-0");
    let names = disk.list(dir).unwrap().into_iter().map(|entry| dir.join(entry.name));
    let mut segments: Vec<_> =
        names.filter(|path| path.extension().is_some_and(|suffix| suffix == "log")).collect();
    segments.pop();
    segments
}

#[test]
fn finished_segments_are_read_past_the_page_cache_while_other_clients_go_on() {
    let broker = LocalBroker::new(2, &[]);
    let mut other = broker.connect();
    assert_eq!(set_topic(&mut other, "segment.bytes", "200000").0, ErrorCode::None);
    let batches = 4;
    for number in 0..batches {
        let base = i64::try_from(number * MANY).unwrap();
        let numbers = number * MANY..(number + 1) * MANY;
        assert_eq!(other.produce(batch(numbers), -1).unwrap(), Ok(base));
    }
    let end = i64::try_from(batches * MANY).unwrap();
    other.set_patience(PATIENCE);
    let segments = finished_segments(&broker.disk);
    assert!(segments.len() > 1);
    for segment in &segments {
        broker.disk.evict(segment).unwrap();
    }

    let hold = broker.disk.hold_reads(LARGE);
    let mut reader = broker.connect();
    reader.send_fetch(0, Duration::ZERO).unwrap();
    assert!(hold.wait_for(1, PATIENCE), "nobody reads for it");
    assert_eq!(broker.disk.calls(Operation::ReadDirect), 1);
    assert_eq!(other.produce(batch([7]), -1).unwrap(), Ok(end));
    assert_eq!(other.read_from(end).unwrap(), [(end, 7)]);
    drop(hold);

    let first = values(&reader.receive_records().unwrap().records);
    assert_eq!(first[..2], [(0, 0), (1, 1)]);
    let next = first.last().unwrap().0 + 1;
    let rest = reader.read_from(next).unwrap();
    let read = first.into_iter().chain(rest);
    let expected = (0..batches * MANY).map(|n| (i64::try_from(n).unwrap(), n));
    assert!(read.eq(expected.chain([(end, 7)])));
    let direct = broker.disk.calls(Operation::ReadDirect);
    assert!(direct >= segments.len() as u64, "{direct} direct reads");
    broker.stop().unwrap();
}
