//! Frames that are begun and not finished, and requests that wait behind one that does not end:
//! they hold no memory that others need, and not for long.

use std::io::ErrorKind;
use std::thread;
use std::time::{Duration, Instant};

use streamlog::wire::fetch::{FetchRequest, RequestPartition, RequestTopic};
use streamlog::wire::{ApiVersionsRequest, EncodedFrame, ErrorCode, encode_request};

use crate::support::{Connection, LocalBroker, TOPIC, Witness, batch};

const MIB: i32 = 1 << 20;

const FETCH: i16 = 12;

/// Records of a batch that makes a large frame.
const MANY: u64 = 30_000;

/// A frame of a MiB of which so many bytes are sent.
fn begin(broker: &LocalBroker, sent: usize) -> Connection {
    let mut connection = broker.connect();
    connection.send_bytes(&MIB.to_be_bytes()).unwrap();
    connection.send_bytes(&vec![0; sent]).unwrap();
    connection
}

/// A fetch that is answered when nobody waits any more, and not before.
fn endless_fetch() -> FetchRequest {
    let partitions = vec![RequestPartition { partition_max_bytes: 1, ..Default::default() }];
    let topics = vec![RequestTopic { topic: TOPIC.to_owned(), partitions, ..Default::default() }];
    FetchRequest { max_wait_ms: i32::MAX, min_bytes: i32::MAX, topics, ..Default::default() }
}

/// A connection whose first request is such a fetch.
fn parked(broker: &LocalBroker) -> Connection {
    let mut connection = broker.connect();
    connection.send(FETCH, &endless_fetch()).unwrap();
    connection
}

/// A frame of so many bytes whose content is never looked at.
fn frame(bytes: i32) -> Vec<u8> {
    [&bytes.to_be_bytes()[..], &vec![0; usize::try_from(bytes).unwrap()]].concat()
}

/// More small requests than may wait for their turn.
fn many_requests() -> Vec<u8> {
    let request = ApiVersionsRequest::default();
    let frames = (2..5_002).map(|id| encode_request(id, "test", 0, &request).unwrap());
    frames.flat_map(EncodedFrame::into_bytes).collect()
}

/// A connection that is served, which may be the only one.
fn served(broker: &LocalBroker) -> Connection {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let mut connection = broker.connect();
        if connection.produce(batch([1]), 1).is_ok_and(|answered| answered.is_ok()) {
            return connection;
        }
        assert!(Instant::now() < deadline, "the place of a connection that is gone stays taken");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The time that a large batch of a stranger to all this takes.
fn large_batch(broker: &LocalBroker) -> Duration {
    let begin = Instant::now();
    let answered = broker.connect().produce(batch(0..MANY), 1).unwrap();
    assert!(answered.is_ok(), "{answered:?}");
    begin.elapsed()
}

#[test]
fn large_frames_announced_and_never_sent_hold_nothing_that_others_need() {
    let settings = [("socket.request.max.bytes", "1 MiB"), ("queued.max.request.bytes", "2 MiB")];
    let broker = LocalBroker::new(1, &settings);
    let begun: Vec<Connection> = (0..20).map(|_| begin(&broker, 0)).collect();
    assert!(large_batch(&broker) < Duration::from_secs(10));
    drop(begun);
    broker.stop().unwrap();
}

#[test]
fn half_frames_that_hold_all_memory_give_way_at_their_deadline() {
    let settings = [
        ("socket.request.max.bytes", "1 MiB"),
        ("queued.max.request.bytes", "2 MiB"),
        ("transfer.deadline.ms", "500"),
    ];
    let broker = LocalBroker::new(2, &settings);
    let mut witness = Witness::of(&broker);
    let begun: Vec<Connection> = (0..4).map(|_| begin(&broker, 900_000)).collect();
    witness.sees_no_harm();
    assert!(large_batch(&broker) < Duration::from_secs(10));
    for mut connection in begun {
        assert!(connection.until_closed().unwrap().is_empty());
    }
    broker.stop().unwrap();
}

#[test]
fn a_frame_that_comes_byte_by_byte_is_cut_off_at_its_deadline() {
    let broker = LocalBroker::new(3, &[("transfer.deadline.ms", "500")]);
    let mut connection = begin(&broker, 0);
    let begin = Instant::now();
    let refused = loop {
        if let Err(refused) = connection.send_bytes(&[0]) {
            break refused.kind();
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "it may go on for ever");
        thread::sleep(Duration::from_millis(20));
    };
    assert!(matches!(refused, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{refused:?}");
    assert!(begin.elapsed() >= Duration::from_millis(400));
    broker.stop().unwrap();
}

#[test]
fn large_requests_that_wait_behind_one_without_an_end_hold_nothing_that_others_need() {
    let settings = [("socket.request.max.bytes", "1 MiB"), ("queued.max.request.bytes", "2 MiB")];
    let broker = LocalBroker::new(4, &settings);
    let waiting: Vec<Connection> = (0..4)
        .map(|_| {
            let mut connection = parked(&broker);
            for piece in frame(MIB).chunks(16 * 1024) {
                if !connection.send_unless_stalled(piece) {
                    break;
                }
            }
            connection
        })
        .collect();
    assert!(large_batch(&broker) < Duration::from_secs(10));
    drop(waiting);
    broker.stop().unwrap();
}

#[test]
fn large_requests_without_an_end_give_way_at_their_deadline() {
    let settings = [
        ("socket.request.max.bytes", "1 MiB"),
        ("queued.max.request.bytes", "2 MiB"),
        ("transfer.deadline.ms", "500"),
    ];
    let broker = LocalBroker::new(5, &settings);
    let mut witness = Witness::of(&broker);
    let mut fetching: Vec<Connection> = (0..3).map(|_| broker.connect()).collect();
    for connection in &mut fetching {
        let rack_id = "r".repeat(1_000_000);
        connection.send(FETCH, &FetchRequest { rack_id, ..endless_fetch() }).unwrap();
    }
    witness.sees_no_harm();
    assert!(large_batch(&broker) < Duration::from_secs(10));
    for connection in &mut fetching {
        let answered = connection.receive_records().unwrap();
        assert_eq!(answered.error_code, ErrorCode::None);
    }
    broker.stop().unwrap();
}

#[test]
fn who_sends_request_upon_request_behind_one_without_an_end_is_held_back() {
    let broker = LocalBroker::new(6, &[]);
    let mut witness = Witness::of(&broker);
    let mut connection = parked(&broker);
    let request = frame(60_000);
    let sent = (0..2_000).take_while(|_| connection.send_unless_stalled(&request)).count();
    assert!(sent < 1_500, "the broker took {sent} requests");
    witness.sees_no_harm();
    drop(connection);
    broker.stop().unwrap();
}

#[test]
fn a_peer_that_goes_is_noticed_however_many_requests_it_left() {
    let broker = LocalBroker::new(7, &[("max.connections", "1")]);
    let mut connection = served(&broker);
    connection.send(FETCH, &endless_fetch()).unwrap();
    connection.send_bytes(&many_requests()).unwrap();
    drop(connection);
    served(&broker);
    broker.stop().unwrap();
}

#[test]
fn a_peer_whose_requests_do_not_get_on_is_idle() {
    let broker = LocalBroker::new(8, &[("connections.max.idle.ms", "1000")]);
    let mut connection = parked(&broker);
    connection.send_bytes(&many_requests()).unwrap();
    connection.until_closed().unwrap();
    broker.stop().unwrap();
}

#[test]
fn who_names_a_partition_often_waits_for_it_once() {
    let broker = LocalBroker::new(7, &[]);
    let mut fetch = endless_fetch();
    let named = fetch.topics[0].partitions[0].clone();
    fetch.topics[0].partitions = vec![named; 25_000];
    let mut parked = Vec::new();
    for _ in 0..3 {
        let mut connection = broker.connect();
        connection.send(FETCH, &fetch).unwrap();
        parked.push(connection);
    }
    for _ in 0..10 {
        assert!(large_batch(&broker) < Duration::from_secs(10));
    }
    broker.stop().unwrap();
}
