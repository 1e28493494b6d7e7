//! A broker that starts with a wrong clock forgets neither deleted keys nor idempotent producers.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Clock, ManualClock, MemoryDisk};
use streamlog::record::{
    BatchBuilder, BatchSettings, Batches, Compression, Compressor, Decompressor, ProducerStamp,
};
use streamlog::types::{ProducerEpoch, ProducerId};
use streamlog::wire::{ErrorCode, Records};

use super::clocks::{DAY, GRACE, PATIENCE, THEN};
use crate::support::{Connection, LocalBroker, TOPIC, set_topic};

/// Settings with which every closed segment is compacted at once.
const SETTINGS: &[(&str, &str)] = &[
    ("log.segment.bytes", "1024"),
    ("log.cleaner.backoff.ms", "50"),
    ("min.cleanable.dirty.ratio", "0"),
];

/// The number of steps in which the compactor looks many times.
const STEPS: usize = 40;

/// The batch with this sequence number of the only producer: a key with a value or, without one,
/// its deletion.
fn keyed(key: &str, value: Option<&[u8]>, base_sequence: i32) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    builder.push(THEN, Some(key.as_bytes()), value, &[]).unwrap();
    let (id, epoch) = (ProducerId(1), ProducerEpoch(0));
    let producer = Some(ProducerStamp { id, epoch, base_sequence });
    let settings = BatchSettings { producer, ..BatchSettings::default() };
    builder.build(&settings, &mut Compressor::new(Compression::None, None).unwrap()).unwrap()
}

/// The keys of the first records, each with true if it has a value.
fn first_keys(client: &mut Connection) -> Vec<(String, bool)> {
    client.send_fetch(0, Duration::ZERO).unwrap();
    let found = client.receive_records().unwrap();
    assert_eq!(found.error_code, ErrorCode::None);
    let Records::Bytes(bytes) = &found.records else { return Vec::new() };
    let mut decompressor = Decompressor::default();
    let mut keys = Vec::new();
    for batch in Batches::new(bytes).map(Result::unwrap) {
        let unpacked = batch.decompressed(&mut decompressor).unwrap();
        for record in batch.records(&unpacked, decompressor.limits()) {
            let record = record.unwrap();
            let key = String::from_utf8(record.key.unwrap().to_vec()).unwrap();
            keys.push((key, record.value.is_some()));
        }
    }
    keys
}

/// Advances the clock in small steps, so that the compactor looks meanwhile.
fn let_look(clock: &ManualClock) {
    for _ in 0..STEPS {
        clock.advance(Duration::from_millis(100));
        thread::sleep(Duration::from_millis(20));
    }
}

/// Advances the clock until the first record is this one.
fn await_first(client: &mut Connection, clock: &ManualClock, key: &str, has_value: bool) {
    let deadline = Instant::now() + PATIENCE;
    while first_keys(client).first() != Some(&(key.to_owned(), has_value)) {
        assert!(Instant::now() < deadline, "{:?}", first_keys(client));
        let_look(clock);
    }
}

#[test]
fn a_start_nine_days_ahead_forgets_no_deletion_and_no_producer_before_the_grace_has_passed() {
    let clock = Arc::new(ManualClock::at(THEN));
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let broker = LocalBroker::at(&clock, disk, SETTINGS).unwrap();
    broker.make_topic();
    let mut client = broker.connect();
    assert_eq!(set_topic(&mut client, "cleanup.policy", "compact").0, ErrorCode::None);
    let filling = [b'v'; 200];
    let (deleted, after) = (keyed("a", None, 1), keyed("z", Some(b"2"), 12));
    assert_eq!(client.produce(keyed("a", Some(b"1"), 0), -1).unwrap(), Ok(0));
    assert_eq!(client.produce(deleted, -1).unwrap(), Ok(1));
    for number in 2..12 {
        let batch = keyed(&format!("b{number}"), Some(&filling), number);
        assert_eq!(client.produce(batch, -1).unwrap(), Ok(number.into()));
    }
    assert_eq!(client.produce(after.clone(), -1).unwrap(), Ok(12));
    // The deletion stays for `delete.retention.ms`, a day, after the record is gone.
    await_first(&mut client, &clock, "a", false);
    let wall = clock.now();
    let disk = broker.stop().unwrap();

    let clock = Arc::new(ManualClock::at(wall.plus(9 * DAY)));
    let broker = LocalBroker::at(&clock, disk, SETTINGS).unwrap();
    let mut client = broker.connect();
    assert_eq!(client.produce(after, -1).unwrap(), Ok(12), "a repetition that is stored already");
    // More closed segments, so that a pass is due.
    for number in 13..23 {
        let batch = keyed(&format!("c{number}"), Some(&filling), number);
        assert_eq!(client.produce(batch, -1).unwrap(), Ok(number.into()), "the producer is known");
    }
    let_look(&clock);
    assert_eq!(first_keys(&mut client)[0], ("a".to_owned(), false), "{TOPIC}");
    clock.advance(GRACE);
    await_first(&mut client, &clock, "b2", true);
    broker.stop().unwrap();
}
