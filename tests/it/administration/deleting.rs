//! A deleted topic leaves the disk, whatever was wrong when it was deleted.

use std::path::Path;
use std::time::{Duration, Instant};

use streamlog::broker::{BrokerError, EngineError};
use streamlog::io::Disk;
use streamlog::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use streamlog::wire::ErrorCode;
use streamlog::wire::delete_topics::{DeleteTopicsRequest, RequestTopic};

use crate::support::{Connection, LocalBroker, TOPIC, batch};

/// A broker whose topic has a record.
fn with_a_record(seed: u64) -> (LocalBroker, Connection) {
    let broker = LocalBroker::new(seed, &[]);
    let mut client = broker.connect();
    assert_eq!(client.produce(batch([1]), -1).unwrap(), Ok(0));
    assert!(has_log(&broker.disk));
    (broker, client)
}

fn deletion() -> DeleteTopicsRequest {
    let topic = RequestTopic { name: Some(TOPIC.to_owned()), ..Default::default() };
    DeleteTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..Default::default() }
}

fn delete(client: &mut Connection) {
    let answer = client.call(6, &deletion()).unwrap();
    assert_eq!(answer.responses[0].error_code, ErrorCode::None);
}

fn has_log(disk: &FaultyDisk) -> bool {
    disk.exists(Path::new("/data/test-0")).unwrap()
}

/// Waits until the topic's data has left its place.
fn wait_until_gone(disk: &FaultyDisk) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while has_log(disk) {
        assert!(Instant::now() < deadline, "the data of the deleted topic stays");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_topic_is_deleted_from_a_full_disk() {
    let (broker, mut client) = with_a_record(1);
    for suffix in [".log", ".index", ".timeindex", ".seal.tmp", ".snapshot.tmp"] {
        let fault = Fault::new(Operation::Write, Failure::NoSpace);
        broker.disk.inject(fault.on(suffix).for_ever());
    }
    delete(&mut client);
    wait_until_gone(&broker.disk);
    broker.disk.clear_faults();
    broker.stop().unwrap();
}

#[test]
fn a_topic_is_deleted_whose_log_has_failed() {
    let (broker, mut client) = with_a_record(2);
    broker.disk.inject(Fault::new(Operation::Write, Failure::NoSpace).on(".log"));
    broker.disk.inject(Fault::new(Operation::SetLen, Failure::InputOutput).on(".log"));
    assert!(client.produce(batch([2]), -1).unwrap().is_err());
    broker.disk.clear_faults();
    assert!(client.produce(batch([3]), -1).unwrap().is_err(), "the log goes on");
    delete(&mut client);
    wait_until_gone(&broker.disk);
    broker.stop().unwrap();
}

#[test]
fn what_could_not_be_removed_is_removed_later() {
    let (broker, mut client) = with_a_record(3);
    broker.disk.inject(Fault::new(Operation::Rename, Failure::NoSpace).on(".deleted"));
    delete(&mut client);
    wait_until_gone(&broker.disk);
    broker.stop().unwrap();
}

#[test]
fn a_topic_whose_removal_a_crash_has_cut_short_is_removed_at_the_start() {
    let (broker, mut client) = with_a_record(4);
    let fault = Fault::new(Operation::Rename, Failure::InputOutput);
    broker.disk.inject(fault.on(".deleted").for_ever());
    delete(&mut client);
    let disk = broker.cut_power(4);
    assert!(has_log(&disk));
    disk.clear_faults();
    let broker = LocalBroker::on(disk, &[]).unwrap();
    wait_until_gone(&broker.disk);
    broker.stop().unwrap();
}

#[test]
fn a_removal_of_which_nobody_knows_whether_it_lasts_stops_the_broker() {
    let (broker, mut client) = with_a_record(5);
    let fault = Fault::new(Operation::SyncDir, Failure::InputOutput);
    broker.disk.inject(fault.on("/data"));
    // The broker may stop before it answers.
    let _ = client.call(6, &deletion());
    assert!(matches!(broker.failure(), BrokerError::Engine(EngineError::Failed { .. })));
}
