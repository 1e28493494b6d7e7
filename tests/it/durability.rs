//! Nothing is acknowledged or readable before it is on disk, and disk errors are reported.

use std::time::Duration;

use streamlog::broker::{BrokerError, EngineError};
use streamlog::io::faulty::{Failure, Fault, Operation};
use streamlog::wire::ErrorCode;
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};

use crate::support::{LocalBroker, batch, values};

/// Long enough for a broker that breaks its promise to do so.
const LONG: Duration = Duration::from_millis(300);

#[test]
fn while_fdatasync_is_held_nothing_is_answered_or_seen_and_released_all_follows() {
    let broker = LocalBroker::new(1, &[]);
    let (mut one, mut all, mut reader) = (broker.connect(), broker.connect(), broker.connect());
    assert_eq!(one.produce(batch([0]), 1).unwrap(), Ok(0));

    let hold = broker.disk.hold_sync();
    reader.send_fetch(1, Duration::from_secs(20)).unwrap();
    one.send_batch(batch([1]), 1).unwrap();
    assert!(hold.wait_for(1, Duration::from_secs(10)), "nobody flushes");
    all.send_batch(batch([2]), -1).unwrap();
    assert!(one.is_silent_for(LONG), "acks=1 was answered before the flush");
    assert!(all.is_silent_for(LONG), "acks=all was answered before the flush");
    assert!(reader.is_silent_for(LONG), "a record was shown before the flush");
    assert_eq!(broker.connect().read_from(0).unwrap(), [(0, 0)]);

    drop(hold);
    assert_eq!(one.receive_offset().unwrap(), Ok(1));
    assert_eq!(all.receive_offset().unwrap(), Ok(2));
    assert_eq!(values(&reader.receive_records().unwrap().records)[0], (1, 1));
    assert_eq!(broker.connect().read_from(0).unwrap(), [(0, 0), (1, 1), (2, 2)]);
    broker.stop().unwrap();
}

#[test]
fn with_write_caching_answers_and_readers_do_not_wait_for_the_disk() {
    let broker = LocalBroker::new(2, &[("write.caching", "true"), ("flush.ms", "600000")]);
    let mut client = broker.connect();
    assert_eq!(client.produce(batch([0]), 1).unwrap(), Ok(0));
    let hold = broker.disk.hold_sync();
    assert_eq!(client.produce(batch([1]), -1).unwrap(), Ok(1));
    assert_eq!(client.read_from(0).unwrap(), [(0, 0), (1, 1)]);
    assert!(hold.wait_for(1, Duration::from_secs(30)), "no flush follows");
    drop(hold);
    broker.stop().unwrap();
}

#[test]
fn a_failed_fdatasync_stops_the_broker_and_its_batch_is_never_acknowledged() {
    let broker = LocalBroker::new(3, &[]);
    let mut client = broker.connect();
    assert_eq!(client.produce(batch([0]), -1).unwrap(), Ok(0));
    broker.disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput).on(".log").for_ever());
    client.send_batch(batch([1]), -1).unwrap();
    assert!(!matches!(client.receive_offset(), Ok(Ok(_))), "acknowledged after a failed flush");
    let disk = broker.disk.clone();
    assert!(matches!(broker.failure(), BrokerError::Engine(EngineError::Failed { .. })));

    disk.clear_faults();
    let broker = LocalBroker::on(disk, &[]).unwrap();
    assert_eq!(broker.connect().read_from(0).unwrap()[0], (0, 0));
    broker.stop().unwrap();
}

#[test]
fn a_failed_fdatasync_of_the_metadata_stops_the_broker_too() {
    let broker = LocalBroker::new(6, &[]);
    let mut client = broker.connect();
    assert_eq!(client.produce(batch([0]), -1).unwrap(), Ok(0));
    let fault = Fault::new(Operation::SyncData, Failure::InputOutput);
    broker.disk.inject(fault.on(".journal").for_ever());
    let topic = RequestTopic { name: Some("other".to_owned()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    let answer = client.call(9, &request);
    assert!(answer.is_err() || answer.unwrap().topics[0].error_code != ErrorCode::None);
    let disk = broker.disk.clone();
    let BrokerError::Engine(EngineError::Failed { reason }) = broker.failure() else {
        panic!("it did not fail")
    };
    assert!(reason.contains("metadata") && reason.contains("os error 5"), "{reason}");

    disk.clear_faults();
    let broker = LocalBroker::on(disk, &[]).unwrap();
    assert_eq!(broker.connect().read_from(0).unwrap(), [(0, 0)]);
    broker.stop().unwrap();
}

#[test]
fn a_full_disk_refuses_producers_serves_readers_and_is_left_behind_without_a_restart() {
    let broker = LocalBroker::new(4, &[]);
    let mut client = broker.connect();
    assert_eq!(client.produce(batch([0]), -1).unwrap(), Ok(0));
    broker.disk.inject(Fault::new(Operation::Write, Failure::NoSpace).on(".log").for_ever());
    assert_eq!(client.produce(batch([1]), -1).unwrap(), Err(ErrorCode::KafkaStorageError));
    assert_eq!(client.read_from(0).unwrap(), [(0, 0)]);
    broker.disk.clear_faults();
    assert_eq!(client.produce(batch([2]), -1).unwrap(), Ok(1));
    assert_eq!(client.read_from(0).unwrap(), [(0, 0), (1, 2)]);
    broker.stop().unwrap();
}

#[test]
fn short_writes_are_completed() {
    let broker = LocalBroker::new(5, &[]);
    let mut client = broker.connect();
    for number in 0..20 {
        let length = usize::try_from(number).unwrap();
        broker.disk.inject(Fault::new(Operation::Write, Failure::ShortWrite(length)).on(".log"));
        assert!(client.produce(batch([number]), -1).unwrap().is_ok() || number == 0);
        broker.disk.clear_faults();
    }
    let read = client.read_from(0).unwrap();
    assert!(read.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1), "{read:?}");
    broker.stop().unwrap();
}
