//! Whole brokers lose power under load, repeatedly on the same disk. Each time every acknowledged
//! record must be there, at its offset and in its order, and every record that a consumer has
//! read.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use streamlog::io::MemoryDisk;
use streamlog::io::faulty::FaultyDisk;

use crate::support::{Connection, LocalBroker, Random, batch, seeds, values};

/// The number of disks, and of power failures on each.
const DISKS: u64 = 100;
const CUTS: u64 = 20;

/// Small segments, so that power failures hit rolls, and a policy that leaves tails unflushed.
const SETTINGS: &[(&str, &str)] = &[("log.segment.bytes", "4096"), ("log.roll.ms", "600000")];

/// The records known to clients: by offset, the number acknowledged or read there.
type Known = BTreeMap<i64, u64>;

/// The work done between power failures: a broker that refuses everything loses nothing either.
#[derive(Debug, Default)]
struct Work {
    cuts: usize,
    acknowledged: usize,
    consumed: usize,
}

#[test]
fn a_power_cut_loses_no_acknowledged_record_and_withdraws_no_consumed_one() {
    let mut work = Work::default();
    for seed in seeds(DISKS) {
        // Printed by the test runner only if this seed fails.
        println!("STREAMLOG_SEED={seed}");
        live_through_cuts(seed, &mut work);
    }
    println!("{work:?}");
    // A hundred times as many are usual. Some failures come before a client has connected.
    assert!(work.acknowledged >= work.cuts, "hardly a record was acknowledged: {work:?}");
    assert!(work.consumed >= work.cuts, "hardly a record was consumed: {work:?}");
}

fn live_through_cuts(seed: u64, work: &mut Work) {
    let mut random = Random::new(seed);
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), seed);
    disk.set_write_back(random.below(8));
    let mut broker = LocalBroker::with_topic(disk, SETTINGS);
    let mut known = Known::new();
    let next_number = AtomicU64::new(0);
    for cut in 0..CUTS {
        let limit = random.below(60);
        let acks = if random.below(3) == 0 { 1 } else { -1 };
        let load = Load { address: broker.address(), limit, acks, size: 1 + random.below(20) };
        let (answered, consumed, disk) = thread::scope(|scope| {
            let producer = scope.spawn(|| load.produce(&next_number));
            let consumer = scope.spawn(|| load.consume(known.len()));
            thread::sleep(Duration::from_micros(random.below(8_000)));
            let disk = broker.cut_power(random.number());
            (producer.join().unwrap(), consumer.join().unwrap(), disk)
        });
        work.cuts += 1;
        work.acknowledged += answered.len();
        work.consumed += consumed.len();
        known.extend(answered);
        known.extend(consumed);
        broker = LocalBroker::on(disk, SETTINGS).unwrap();
        check(&broker, &mut known, cut);
        go_on(&broker, &mut known, &next_number);
    }
    broker.stop().unwrap();
}

/// Checks that all known records are there, and adds the others to the known ones.
fn check(broker: &LocalBroker, known: &mut Known, cut: u64) {
    let read = broker.connect().read_from(0).unwrap();
    for (position, (offset, _)) in read.iter().enumerate() {
        assert_eq!(*offset, i64::try_from(position).unwrap(), "offsets are dense, after cut {cut}");
    }
    let found: Known = read.iter().copied().collect();
    for (offset, number) in known.iter() {
        assert_eq!(found.get(offset), Some(number), "offset {offset} after cut {cut}");
    }
    let mut numbers: Vec<u64> = read.iter().map(|(_, number)| *number).collect();
    assert!(numbers.is_sorted(), "one producer's records are in its order, after cut {cut}");
    numbers.dedup();
    assert_eq!(numbers.len(), read.len(), "no record is there twice, after cut {cut}");
    *known = found;
}

/// Checks that the broker accepts a record, after all others, and returns it.
fn go_on(broker: &LocalBroker, known: &mut Known, next_number: &AtomicU64) {
    let number = next_number.fetch_add(1, Ordering::Relaxed);
    let mut connection = broker.connect();
    let offset = connection.produce(batch([number]), -1).unwrap();
    let end = i64::try_from(known.len()).unwrap();
    assert_eq!(offset, Ok(end), "the broker goes on where its log ended");
    assert_eq!(connection.read_from(end).unwrap(), [(end, number)], "what it took can be read");
    known.insert(end, number);
}

/// The clients at work when the power fails.
struct Load {
    address: SocketAddr,
    limit: u64,
    acks: i16,
    size: u64,
}

impl Load {
    /// Sends batches, several at once, and returns the acknowledged records.
    fn produce(&self, next_number: &AtomicU64) -> Known {
        let mut acknowledged = Known::new();
        let Ok(mut connection) = Connection::open(self.address) else { return acknowledged };
        let mut pending = std::collections::VecDeque::new();
        for sent in 0..self.limit {
            let first = next_number.fetch_add(self.size, Ordering::Relaxed);
            let numbers = first..first + self.size;
            if connection.send_batch(batch(numbers.clone()), self.acks).is_err() {
                break;
            }
            pending.push_back(numbers);
            if sent % 4 == 3 && !take(&mut connection, &mut pending, &mut acknowledged) {
                break;
            }
        }
        while !pending.is_empty() && take(&mut connection, &mut pending, &mut acknowledged) {}
        acknowledged
    }

    /// Returns the records that can be read.
    fn consume(&self, from: usize) -> Known {
        let mut seen = Known::new();
        let Ok(mut connection) = Connection::open(self.address) else { return seen };
        let mut offset = i64::try_from(from).unwrap();
        for _ in 0..1000 {
            if connection.send_fetch(offset, Duration::from_millis(100)).is_err() {
                break;
            }
            let Ok(partition) = connection.receive_records() else { break };
            let new = values(&partition.records);
            offset = new.last().map_or(offset, |(last, _)| last + 1);
            seen.extend(new);
        }
        seen
    }
}

/// Records the next response; returns false if there are no more.
fn take(
    connection: &mut Connection,
    pending: &mut std::collections::VecDeque<std::ops::Range<u64>>,
    acknowledged: &mut Known,
) -> bool {
    let Ok(Ok(offset)) = connection.receive_offset() else { return false };
    let numbers = pending.pop_front().unwrap();
    acknowledged.extend((offset..).zip(numbers));
    true
}
