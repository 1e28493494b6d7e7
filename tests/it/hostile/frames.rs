//! Bytes that are no request: they end their own connection and harm nobody else.

use std::time::Duration;

use bytes::Bytes;
use streamlog::wire::api_versions::ApiVersionsRequest;
use streamlog::wire::fetch::{FetchRequest, RequestPartition, RequestTopic};
use streamlog::wire::metadata::MetadataRequest;
use streamlog::wire::{ErrorCode, Records, encode_request, produce};

use crate::support::{Connection, LocalBroker, TOPIC, Witness, batch};

/// `socket.request.max.bytes`, as nobody has changed it.
const FRAME_MAX: i32 = 100 << 20;

/// A frame with this body, from a client without a name.
fn frame(api: i16, version: i16, body: &[u8]) -> Vec<u8> {
    let length = i32::try_from(body.len() + 10).unwrap();
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend([api.to_be_bytes(), version.to_be_bytes()].concat());
    bytes.extend([0, 0, 0, 1, 0xff, 0xff]);
    bytes.extend(body);
    bytes
}

/// The broker closes a connection without an answer, though the peer would go on.
fn closes_at(broker: &LocalBroker, bytes: &[u8]) {
    let mut connection = broker.connect();
    connection.send_bytes(bytes).unwrap();
    let answer = connection.until_closed().unwrap();
    assert!(answer.is_empty(), "{bytes:?} was answered with {answer:?}");
}

#[test]
fn a_length_that_no_frame_has_ends_its_connection() {
    let broker = LocalBroker::new(1, &[]);
    let mut witness = Witness::of(&broker);
    for length in [-1, i32::MIN, i32::MAX, FRAME_MAX + 1] {
        closes_at(&broker, &length.to_be_bytes());
        witness.sees_no_harm();
    }
}

#[test]
fn a_frame_cut_off_by_its_peer_does_nothing() {
    let broker = LocalBroker::new(2, &[]);
    let mut witness = Witness::of(&broker);
    let request = produce_request(&batch([1, 2, 3]));
    let whole = encode_request(1, "test", 9, &request).unwrap().into_bytes();
    for cut in 1..whole.len() {
        let mut connection = broker.connect();
        connection.send_bytes(&whole[..cut]).unwrap();
        assert!(connection.finish().unwrap().is_empty(), "cut after {cut} bytes");
    }
    witness.sees_no_harm();
}

#[test]
fn many_huge_frames_announced_and_never_sent_do_not_keep_others_waiting() {
    let broker = LocalBroker::new(3, &[]);
    let mut witness = Witness::of(&broker);
    let begun: Vec<Connection> = (0..20)
        .map(|_| {
            let mut connection = broker.connect();
            connection.send_bytes(&FRAME_MAX.to_be_bytes()).unwrap();
            connection
        })
        .collect();
    witness.sees_no_harm();
    drop(begun);
    witness.sees_no_harm();
}

#[test]
fn an_array_longer_than_its_frame_ends_its_connection() {
    let broker = LocalBroker::new(4, &[]);
    let mut witness = Witness::of(&broker);
    let huge = i32::MAX.to_be_bytes();
    let varint = [0xff, 0xff, 0xff, 0xff, 0x0f];
    let no_transaction_acks_and_timeout = [0xff, 0xff, 0, 1, 0, 0, 0, 9];
    for (api, version, body) in [
        (3, 1, huge.to_vec()),
        (3, 9, [&[0][..], &varint].concat()),
        (0, 3, [&no_transaction_acks_and_timeout[..], &huge].concat()),
        (0, 9, [&[0, 0, 0, 1, 0, 0, 0, 9], &varint[..]].concat()),
        (1, 4, [&[0; 17][..], &huge].concat()),
        (8, 2, [&[0; 16][..], &huge].concat()),
        (19, 2, huge.to_vec()),
    ] {
        closes_at(&broker, &frame(api, version, &body));
        witness.sees_no_harm();
    }
}

#[test]
fn an_api_or_a_version_that_is_not_served_ends_its_connection() {
    let broker = LocalBroker::new(5, &[]);
    let mut witness = Witness::of(&broker);
    let unknown = [(-1, 0), (93, 0), (i16::MAX, 0), (i16::MIN, i16::MIN)];
    let not_served = [(4, 0), (22, 99), (0, 2), (0, 14), (1, 3), (1, 99), (3, -1), (3, 14)];
    for (api, version) in unknown.into_iter().chain(not_served) {
        closes_at(&broker, &frame(api, version, &[0; 64]));
        witness.sees_no_harm();
    }
}

#[test]
fn a_version_of_api_versions_from_the_future_is_answered_in_version_0_with_code_35() {
    let broker = LocalBroker::new(6, &[]);
    let mut connection = broker.connect();
    connection.send_bytes(&frame(18, 99, &[0, 1, 1, 0])).unwrap();
    let answered = connection.receive::<ApiVersionsRequest>(0).unwrap();
    assert_eq!(answered.error_code.code(), 35);
    assert!(answered.api_keys.iter().any(|api| api.api_key == 18 && api.max_version >= 3));
}

#[test]
fn an_offset_beyond_the_end_is_out_of_range_and_the_connection_goes_on() {
    let broker = LocalBroker::new(7, &[]);
    let mut witness = Witness::of(&broker);
    let mut connection = broker.connect();
    for offset in [witness.end() + 1, i64::MAX, -1, i64::MIN] {
        connection.send_fetch(offset, Duration::from_mins(1)).unwrap();
        let answered = connection.receive_records().unwrap();
        assert_eq!(answered.error_code, ErrorCode::OffsetOutOfRange, "offset {offset}");
    }
    assert_eq!(connection.read_from(0).unwrap(), [(0, 7)]);
    witness.sees_no_harm();
}

#[test]
fn a_fetch_of_100_000_partitions_is_answered_in_full() {
    let broker = LocalBroker::new(8, &[]);
    let mut witness = Witness::of(&broker);
    let end = witness.end();
    let asked = |partition| RequestPartition {
        partition,
        fetch_offset: end,
        partition_max_bytes: 1 << 20,
        ..Default::default()
    };
    let absent: Vec<_> = (1..=100_000).map(asked).collect();
    let repeated: Vec<_> = (0..100_000).map(|_| asked(0)).collect();
    for (partitions, code) in
        [(absent, ErrorCode::UnknownTopicOrPartition), (repeated, ErrorCode::None)]
    {
        let topic = RequestTopic { topic: TOPIC.to_owned(), partitions, ..Default::default() };
        let request = FetchRequest {
            max_wait_ms: 50,
            min_bytes: 1,
            topics: vec![topic],
            ..Default::default()
        };
        let answered = broker.connect().call(12, &request).unwrap();
        let partitions = &answered.topics[0].partitions;
        assert_eq!(partitions.len(), 100_000);
        assert!(partitions.iter().all(|partition| partition.error_code == code));
        witness.sees_no_harm();
    }
}

#[test]
fn an_answer_that_nobody_takes_keeps_no_one_else_waiting() {
    let broker = LocalBroker::new(9, &[]);
    let mut witness = Witness::of(&broker);
    let mut deaf = broker.connect();
    let all = MetadataRequest { topics: None, ..Default::default() };
    for _ in 0..2_000 {
        deaf.send(9, &all).unwrap();
    }
    witness.sees_no_harm();
}

fn produce_request(batch: &[u8]) -> produce::ProduceRequest {
    let records = Records::Bytes(Bytes::copy_from_slice(batch));
    let partitions = vec![produce::RequestPartition { index: 0, records }];
    let topics =
        vec![produce::RequestTopic { name: TOPIC.to_owned(), partitions, ..Default::default() }];
    produce::ProduceRequest { acks: 1, timeout_ms: 1_000, topics, ..Default::default() }
}
