//! File systems that interrupt every call (EINTR), as a network file system may: no thread of the
//! broker repeats a call for ever.

use std::thread;
use std::time::Duration;

use streamlog::wire::ErrorCode;
use tempfile::TempDir;

use crate::support::{BrokerProcess, Connection, Faults, batch, sequenced};

/// The files that a broker reads and writes, by pattern.
const FILES: [&str; 13] = [
    "*/test-0/*.log",
    "*/test-0/*.index",
    "*/test-0/*.timeindex",
    "*/test-0/*.seal*",
    "*/test-0/*.snapshot*",
    "*/test-0/leader-epoch-checkpoint*",
    "*/test-0/partition.metadata*",
    "*/data/durable-point-checkpoint*",
    "*/data/high-watermark-checkpoint*",
    "*/data/run*",
    "*/data/last-known-time*",
    "*/data/metadata/*",
    "*/data/reserve/*",
];

const SETTINGS: [&str; 3] = [
    "log.segment.bytes=1024",
    "log.index.interval.bytes=128",
    "log.retention.check.interval.ms=300",
];

/// Appends records by an idempotent producer until they are refused; returns how many were
/// acknowledged.
fn produce(client: &mut Connection, from: u64) -> u64 {
    let mut next = from;
    for _ in 0..10 {
        let batch = sequenced(next..next + 10, (4711, 0), i32::try_from(next).unwrap());
        match client.produce(batch, -1) {
            Ok(Ok(_)) => next += 10,
            Ok(Err(_)) | Err(_) => break,
        }
    }
    next
}

/// Produces while every such call on some files is interrupted. The broker serves its other
/// partition, or has ended because it cannot sync; nothing acknowledged is lost.
fn work_with_interruptions(operation: &str, files: &str) {
    let what = format!("{operation} {files}");
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    let data = dir.path().join("data");
    let rule = |command: &mut _| faults.rule(command);
    let broker = BrokerProcess::start(&data, &SETTINGS, rule).unwrap();
    broker.make_test_topic();
    broker.make_topic("other");
    let mut client = broker.connect();
    let acknowledged = produce(&mut client, 0);
    assert_eq!(acknowledged, 100, "{what}");

    faults.set(&[&format!("{what} EINTR")]);
    let acknowledged = produce(&mut client, acknowledged);
    if client.send_fetch(0, Duration::ZERO).is_ok() {
        // It may have ended, or close the connection in the middle of a response.
        let _ = client.receive_records();
    }
    thread::sleep(Duration::from_millis(1_300));
    let mut other = broker.connect_if_up();
    let is_served = other.as_mut().is_some_and(|client| {
        let sent = client.send_batch_to("other", batch([1]), -1);
        sent.and_then(|()| client.receive_offset()).is_ok_and(|answer| answer.is_ok())
    });
    if is_served {
        faults.set(&[]);
        broker.stop();
    } else {
        assert_eq!(operation, "sync", "{what}: {}", broker.log());
        broker.await_log("cannot sync '");
        assert!(!broker.end().success(), "{what}");
        faults.set(&[]);
    }

    let broker = BrokerProcess::start(&data, &SETTINGS, |_| {}).unwrap();
    let read = broker.connect().read_from(0).unwrap();
    let is_there = |number| read.get(usize::try_from(number).unwrap()).map(|(_, n)| *n);
    let lost = (0..acknowledged).find(|number| is_there(*number) != Some(*number));
    assert_eq!(lost, None, "{what}");
    assert!(broker.stop().success(), "{what}");
}

#[test]
fn no_interrupted_call_is_repeated_for_ever_while_the_broker_works() {
    for operation in ["read", "write", "sync"] {
        thread::scope(|scope| {
            for files in FILES {
                scope.spawn(move || work_with_interruptions(operation, files));
            }
        });
    }
}

#[test]
fn no_interrupted_call_is_repeated_for_ever_at_a_start() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let broker = BrokerProcess::start(&data, &SETTINGS, |_| {}).unwrap();
    broker.make_test_topic();
    assert_eq!(produce(&mut broker.connect(), 0), 100);
    // Recovery reads more than a start after a clean shutdown.
    drop(broker);
    for operation in ["open", "read", "write", "sync"] {
        for files in FILES {
            let faults = Faults::new();
            faults.set(&[&format!("{operation} {files} EINTR")]);
            match BrokerProcess::start(&data, &SETTINGS, |command| faults.rule(command)) {
                Ok(broker) => drop(broker),
                Err(log) => assert!(log.contains("os error 4"), "{operation} {files}: {log}"),
            }
        }
    }
    let broker = BrokerProcess::start(&data, &SETTINGS, |_| {}).unwrap();
    let mut client = broker.connect();
    assert_eq!(client.read_from(0).unwrap().len(), 100);
    assert_eq!(client.produce(batch([100]), -1).unwrap(), Ok(100));
    client.send_fetch(100, Duration::ZERO).unwrap();
    assert_eq!(client.receive_records().unwrap().error_code, ErrorCode::None);
    assert!(broker.stop().success());
}
