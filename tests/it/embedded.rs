//! The engine without a socket: its guarantees, and sharing data directories with a broker.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use streamlog::broker::{Broker, BrokerConfig, EngineConfig, Listener};
use streamlog::client::{Client, ClientConfig, ConsumerConfig, ProducerConfig, ProducerRecord};
use streamlog::embedded::{
    EmbeddedError, Header, Logs, NewRecord, Partition, Records, Remedy, Start,
};
use streamlog::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use streamlog::io::{Clock, Disk, MemoryDisk, SystemClock};
use streamlog::types::{Offset, Timestamp};
use tempfile::TempDir;

use crate::support::seeds;

const PATIENCE: Duration = Duration::from_secs(20);
/// A time in which a broken guarantee would show.
const LONG: Duration = Duration::from_millis(200);

fn faulty(seed: u64) -> FaultyDisk {
    FaultyDisk::new(Arc::new(MemoryDisk::default()), seed)
}

fn open_on(disk: &FaultyDisk) -> Logs {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let config = EngineConfig::at("/data");
    Logs::open_on(config, &disk, &clock).unwrap()
}

fn partition(logs: &Logs) -> Partition {
    logs.ensure_topic("t", 1, &[]).unwrap();
    logs.partition("t", 0).unwrap()
}

fn texts(records: Records) -> Vec<String> {
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
    records.map(|record| text(&record.unwrap().value.unwrap())).collect()
}

fn all(partition: &Partition) -> Vec<String> {
    texts(partition.read(Start::Earliest).unwrap())
}

fn start_broker(dir: &Path) -> (Broker, Client) {
    let config = BrokerConfig {
        listeners: Listener::alone("127.0.0.1", 0),
        engine: EngineConfig::at(dir),
        shards: 1,
        ..BrokerConfig::default()
    };
    let broker = Broker::start(config).unwrap();
    let address = broker.address().to_string().parse().unwrap();
    let config = ClientConfig { bootstrap: vec![address], ..ClientConfig::default() };
    (broker, Client::connect(config).unwrap())
}

fn send(client: &Client, value: &str) {
    let producer = client.producer(ProducerConfig::default()).unwrap();
    let value = Some(value.as_bytes());
    let record = ProducerRecord { topic: "t", value, ..ProducerRecord::default() };
    producer.send(&record).unwrap().wait(Some(PATIENCE)).unwrap();
    producer.close(Some(PATIENCE)).unwrap();
}

fn consume(client: &Client) -> Vec<String> {
    let consumer = client.consumer(&["t"], ConsumerConfig::default()).unwrap();
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
    consumer.until_end().unwrap().map(|m| text(m.unwrap().value().unwrap())).collect()
}

#[test]
fn a_broker_and_an_embedded_engine_read_each_others_data() {
    let data = TempDir::new().unwrap();
    let logs = Logs::open(data.path()).unwrap();
    partition(&logs).append(["embedded"]).unwrap();
    logs.close().unwrap();

    let (broker, client) = start_broker(data.path());
    assert_eq!(consume(&client), ["embedded"]);
    send(&client, "served");
    drop(client);
    broker.stop().unwrap();

    let logs = Logs::open(data.path()).unwrap();
    assert_eq!(logs.topics(), ["t"]);
    let partition = partition(&logs);
    assert_eq!(all(&partition), ["embedded", "served"]);
    assert_eq!(partition.append(["again"]).unwrap().base_offset(), Offset::new(2));
    logs.close().unwrap();
}

#[test]
fn a_broker_in_this_process_is_accessed_without_its_socket() {
    let data = TempDir::new().unwrap();
    let (broker, client) = start_broker(data.path());
    let logs = Logs::of(&broker);
    let partition = partition(&logs);
    let mut follower = partition.read(Start::Earliest).unwrap().follow();
    partition.append(["from inside"]).unwrap().wait_flushed().unwrap();
    send(&client, "by socket");
    for expected in ["from inside", "by socket"] {
        let record = follower.next_within(PATIENCE).unwrap().unwrap();
        assert_eq!(record.value.unwrap(), expected.as_bytes());
    }
    assert_eq!(consume(&client), ["from inside", "by socket"]);
    drop(client);
    broker.stop().unwrap();
    assert!(follower.next().is_none(), "a stopped broker ends iteration");
    let refusal = partition.append(["late"]).unwrap_err();
    assert_eq!(refusal.remedy(), Remedy::Refresh, "{refusal}");
    assert_eq!(logs.create_topic("late", 1, &[]).unwrap_err().remedy(), Remedy::Fatal);
}

#[test]
fn a_data_directory_is_opened_only_once_at_a_time() {
    let data = TempDir::new().unwrap();
    let logs = Logs::open(data.path()).unwrap();
    let refusal = Logs::open(data.path()).unwrap_err();
    assert!(refusal.to_string().contains("close it there"), "{refusal}");
    let config = BrokerConfig {
        listeners: Listener::alone("127.0.0.1", 0),
        engine: EngineConfig::at(data.path()),
        ..BrokerConfig::default()
    };
    let refusal = Broker::start(config.clone()).unwrap_err();
    assert!(refusal.to_string().contains("in use"), "{refusal}");
    logs.close().unwrap();

    let broker = Broker::start(config).unwrap();
    assert!(matches!(Logs::open(data.path()), Err(EmbeddedError::NotOpened { .. })));
    broker.stop().unwrap();
}

#[test]
fn nothing_is_acknowledged_or_read_before_it_is_on_disk() {
    let disk = faulty(1);
    let logs = open_on(&disk);
    let partition = partition(&logs);
    partition.append(["first"]).unwrap().wait_flushed().unwrap();

    let hold = disk.hold_sync();
    let ticket = partition.append(["second"]).unwrap();
    assert_eq!(ticket.base_offset(), Offset::new(1));
    assert!(!ticket.wait_flushed_for(LONG).unwrap(), "acknowledged before the flush");
    assert_eq!(all(&partition), ["first"]);
    let mut follower = partition.read(Start::At(Offset::new(1))).unwrap().follow();
    assert!(follower.next_within(LONG).is_none(), "visible before the flush");

    drop(hold);
    ticket.wait_flushed().unwrap();
    assert!(ticket.is_flushed().unwrap());
    assert_eq!(follower.next_within(PATIENCE).unwrap().unwrap().value.unwrap(), "second");
    logs.close().unwrap();
}

#[test]
fn acknowledged_records_survive_a_power_cut() {
    for seed in seeds(20) {
        let disk = faulty(seed);
        let logs = open_on(&disk);
        let tickets: Vec<_> = {
            let partition = partition(&logs);
            (0..5).map(|n| partition.append([n.to_string().as_str()]).unwrap()).collect()
        };
        let promised = usize::try_from(seed).unwrap() % tickets.len();
        tickets[promised].wait_flushed().unwrap();
        drop(tickets);
        let found = disk.crash(seed).unwrap();
        drop(logs);

        let read = all(&partition(&open_on(&found)));
        assert!(read.len() > promised, "seed {seed}: {read:?}");
        assert!(read.iter().zip(0..).all(|(text, n)| *text == n.to_string()), "seed {seed}");
    }
}

#[test]
fn a_failed_disk_is_reported_to_all_waiting_and_later_calls() {
    let disk = faulty(2);
    let logs = open_on(&disk);
    let partition = partition(&logs);
    partition.append(["good"]).unwrap().wait_flushed().unwrap();
    let follower = partition.read(Start::Latest).unwrap().follow();
    let following = thread::spawn(move || follower.last());
    disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput).on(".log").for_ever());
    let ticket = partition.append(["lost"]).unwrap();
    for _ in 0..2 {
        let error = ticket.wait_flushed().unwrap_err();
        assert!(matches!(error, EmbeddedError::Failed { .. }), "{error}");
        assert_eq!(error.remedy(), Remedy::Fatal);
    }
    assert!(matches!(following.join().unwrap(), Some(Err(EmbeddedError::Failed { .. }))));
    assert_eq!(partition.append(["late"]).unwrap_err().remedy(), Remedy::Fatal);
    assert!(logs.close().is_err());

    disk.clear_faults();
    let logs = open_on(&disk);
    assert_eq!(all(&logs.partition("t", 0).unwrap())[0], "good");
}

#[test]
fn closing_flushes_appended_records_and_ends_followers() {
    let data = TempDir::new().unwrap();
    let logs = Logs::open(data.path()).unwrap();
    logs.create_topic("t", 1, &[("flush.ms", "3600000"), ("flush.on.demand", "false")]).unwrap();
    let partition = logs.partition("t", 0).unwrap();
    let follower = partition.read(Start::Earliest).unwrap().follow();
    let following = thread::spawn(move || follower.map(Result::unwrap).count());
    let ticket = partition.append(["kept"]).unwrap();
    let waiting = thread::spawn({
        let ticket = ticket.clone();
        move || ticket.wait_flushed()
    });
    assert!(!ticket.wait_flushed_for(LONG).unwrap(), "flushed against the topic's policy");
    logs.close().unwrap();
    waiting.join().unwrap().unwrap();
    assert!(following.join().unwrap() <= 1);

    let logs = Logs::open(data.path()).unwrap();
    assert_eq!(all(&logs.partition("t", 0).unwrap()), ["kept"]);
}

#[test]
fn records_are_read_as_appended_from_any_start() {
    let data = TempDir::new().unwrap();
    let logs = Logs::open(data.path()).unwrap();
    let partition = partition(&logs);
    let headers = [Header { key: b"h", value: None }, Header { key: b"h", value: Some(b"1") }];
    let now = SystemClock.now().millis();
    let at = |seconds: i64| Some(Timestamp::from_millis(now - 100_000 + seconds * 1000));
    let full =
        NewRecord { key: Some(b"k"), value: Some(b"v"), headers: &headers, timestamp: at(0) };
    let tombstone = NewRecord { key: Some(b"k"), timestamp: at(10), ..NewRecord::default() };
    let late = NewRecord { timestamp: at(20), ..NewRecord::from("late") };
    partition.append([full, tombstone]).unwrap();
    partition.append([late]).unwrap().wait_flushed().unwrap();

    let read: Vec<_> = partition.read(Start::Earliest).unwrap().collect::<Result<_, _>>().unwrap();
    let [first, second, third] = &read[..] else { panic!("{read:?}") };
    assert_eq!((first.key.as_deref(), first.value.as_deref()), (Some(&b"k"[..]), Some(&b"v"[..])));
    assert_eq!(first.headers().collect::<Vec<_>>(), headers);
    assert_eq!((second.value.as_ref(), second.headers().len()), (None, 0));
    assert_eq!([first, second, third].map(|r| Some(r.timestamp)), [at(0), at(10), at(20)]);

    let offsets = |start| -> Vec<i64> {
        partition.read(start).unwrap().map(|record| record.unwrap().offset.get()).collect()
    };
    assert_eq!(offsets(Start::At(Offset::new(1))), [1, 2], "from within a batch");
    assert_eq!(offsets(Start::Since(at(5).unwrap())), [1, 2]);
    assert_eq!(offsets(Start::Since(at(21).unwrap())), [0; 0]);
    assert_eq!(offsets(Start::Latest), [0; 0]);
    let mut records = partition.read(Start::Latest).unwrap();
    assert!(records.next().is_none());
    records.seek(Start::At(Offset::new(2))).unwrap();
    assert_eq!(records.position(), Offset::new(2));
}

#[test]
fn many_threads_append_and_each_record_is_read_once_in_order() {
    let data = TempDir::new().unwrap();
    let logs = Logs::open(data.path()).unwrap();
    logs.create_topic("t", 1, &[("segment.bytes", "64 KiB")]).unwrap();
    let partition = logs.partition("t", 0).unwrap();
    let (writers, each) = (4, 500);
    let follower = partition.read(Start::Earliest).unwrap().follow();
    thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let records = follower.take(writers * each).map(Result::unwrap);
            records.map(|record| (record.offset.get(), record.value.unwrap())).collect::<Vec<_>>()
        });
        for writer in 0..writers {
            let partition = partition.clone();
            scope.spawn(move || {
                for number in 0..each {
                    let value = format!("{writer}:{number:0>100}");
                    partition.append([value.as_str()]).unwrap();
                }
            });
        }
        let read = reading.join().unwrap();
        assert!(read.iter().zip(0..).all(|((offset, _), expected)| *offset == expected));
        for writer in 0..writers {
            let prefix = format!("{writer}:");
            let own = read.iter().filter(|(_, value)| value.starts_with(prefix.as_bytes()));
            assert!(own.is_sorted_by_key(|(_, value)| value.clone()), "{writer}");
        }
    });
    logs.close().unwrap();
}

#[test]
fn a_ticket_is_a_future_of_any_executor() {
    let data = TempDir::new().unwrap();
    let logs = Logs::open(data.path()).unwrap();
    let partition = partition(&logs);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let ticket = partition.append(["async"]).unwrap();
    runtime.block_on(ticket.flushed()).unwrap();
    assert!(ticket.is_flushed().unwrap());
}

#[test]
fn invalid_calls_are_refused_with_a_remedy() {
    let data = TempDir::new().unwrap();
    let logs = Logs::open(data.path()).unwrap();
    logs.create_topic("small", 2, &[("max.message.bytes", "200")]).unwrap();
    logs.create_topic("compacted", 1, &[("cleanup.policy", "compact")]).unwrap();
    let small = logs.partition("small", 0).unwrap();
    let compacted = logs.partition("compacted", 0).unwrap();
    let far =
        NewRecord { timestamp: Some(Timestamp::from_millis(1 << 50)), ..NewRecord::default() };
    let refusals = [
        (logs.partition("smal", 0).unwrap_err(), "ensure_topic"),
        (logs.partition("small", 2).unwrap_err(), "it has 2, numbered from 0"),
        (logs.create_topic("a/b", 1, &[]).unwrap_err(), "'a/b' cannot be"),
        (logs.create_topic("small", 1, &[]).unwrap_err(), "exists"),
        (logs.create_topic("x", 0, &[]).unwrap_err(), "1 to"),
        (logs.create_topic("x", 1, &[("retention.mss", "1")]).unwrap_err(), "retention.ms"),
        (logs.delete_topic("__consumer_offsets").unwrap_err(), "is internal"),
        (small.append::<&str>([]).unwrap_err(), "at least one"),
        (small.append(["x".repeat(200).as_str()]).unwrap_err(), "max.message.bytes"),
        (small.append([far]).unwrap_err(), "message.timestamp"),
        (compacted.append(["no key"]).unwrap_err(), "needs a key"),
    ];
    for (refusal, hint) in refusals {
        assert!(refusal.to_string().contains(hint), "{refusal} lacks {hint:?}");
    }
    let beyond = small.read(Start::At(Offset::new(7))).unwrap_err();
    assert_eq!(beyond.remedy(), Remedy::Refresh, "{beyond}");
    assert_eq!(small.high_watermark(), Offset::ZERO, "nothing of all that was appended");
}

#[test]
fn the_handles_of_a_deleted_topic_refuse_and_its_successor_is_empty() {
    let data = TempDir::new().unwrap();
    let logs = Logs::open(data.path()).unwrap();
    let before = partition(&logs);
    before.append(["old"]).unwrap().wait_flushed().unwrap();
    let follower = before.read(Start::Latest).unwrap().follow();
    let following = thread::spawn(move || follower.last());
    logs.delete_topic("t").unwrap();
    assert!(logs.partition("t", 0).is_err());
    assert_eq!(before.append(["late"]).unwrap_err().remedy(), Remedy::Refresh);
    assert!(matches!(following.join().unwrap(), Some(Err(EmbeddedError::Partition { .. }))));
    let after = partition(&logs);
    after.append(["new"]).unwrap().wait_flushed().unwrap();
    assert_eq!(all(&after), ["new"]);
    logs.close().unwrap();
}
