//! The effect of a topic's settings on stored batches.

use std::time::Duration;

use streamlog::record::{
    Batch, BatchBuilder, BatchSettings, Compression, Compressor, ProducerStamp,
};
use streamlog::types::{ProducerEpoch, ProducerId, Timestamp};
use streamlog::wire::fetch::{self, FetchRequest};
use streamlog::wire::produce::{self, ProduceRequest};
use streamlog::wire::{ErrorCode, Records};

use crate::support::{Connection, LocalBroker, TOPIC, batch, packed_batch, set_topic, values};

const NUMBERS: std::ops::Range<u64> = 0..200;

/// Every `compression.type`, and the codec that a batch of a codec is stored in.
const TYPES: [(&str, Option<Compression>); 7] = [
    ("producer", None),
    ("uncompressed", Some(Compression::None)),
    ("none", Some(Compression::None)),
    ("gzip", Some(Compression::Gzip)),
    ("snappy", Some(Compression::Snappy)),
    ("lz4", Some(Compression::Lz4)),
    ("zstd", Some(Compression::Zstd)),
];

/// The bytes from an offset on.
fn stored(client: &mut Connection, offset: i64) -> Vec<u8> {
    client.send_fetch(offset, Duration::ZERO).unwrap();
    let Records::Bytes(bytes) = client.receive_records().unwrap().records else { panic!() };
    bytes.to_vec()
}

#[test]
fn every_codec_is_stored_as_every_topic_asks_from_the_next_batch_on() {
    let broker = LocalBroker::new(1, &[]);
    let mut client = broker.connect();
    let mut end = 0;
    for (name, target) in TYPES {
        assert_eq!(set_topic(&mut client, "compression.type", name).0, ErrorCode::None);
        for codec in Compression::ALL {
            let sent = packed_batch(NUMBERS, codec);
            assert_eq!(client.produce(sent.clone(), -1).unwrap(), Ok(end), "{codec} as {name}");
            let bytes = stored(&mut client, end);
            let batch = Batch::parse(&bytes).unwrap();
            assert_eq!(batch.compression(), target.unwrap_or(codec), "{codec} as {name}");
            if target.is_none_or(|target| target == codec) {
                // Base offset and epoch are the broker's.
                assert_eq!((&bytes[8..12], &bytes[16..]), (&sent[8..12], &sent[16..]));
            }
            let expected: Vec<_> = (end..).zip(NUMBERS).collect();
            assert_eq!(values(&Records::Bytes(bytes.into())), expected, "{codec} as {name}");
            end += 200;
        }
    }
}

#[test]
fn the_level_of_a_codec_counts() {
    let broker = LocalBroker::new(2, &[("compression.type", "gzip")]);
    let mut client = broker.connect();
    let mut size = |level| {
        let set = set_topic(&mut client, "compression.gzip.level", level);
        assert_eq!(set.0, ErrorCode::None, "{}", set.1);
        let offset = client.produce(batch(0..3_000), -1).unwrap().unwrap();
        stored(&mut client, offset).len()
    };
    assert!(size("9") < size("1"));
    let (code, said) = set_topic(&mut client, "compression.gzip.level", "0");
    assert_eq!(code, ErrorCode::InvalidConfig);
    assert!(said.contains("compression.gzip.level"), "{said}");
}

#[test]
fn a_batch_that_is_too_large_when_packed_otherwise_is_refused() {
    let settings = [("compression.type", "uncompressed"), ("message.max.bytes", "2000")];
    let broker = LocalBroker::new(3, &settings);
    let mut client = broker.connect();
    let large = packed_batch(std::iter::repeat_n(1, 500), Compression::Zstd);
    assert!(large.len() < 2_000);
    assert_eq!(client.produce(large, 1).unwrap(), Err(ErrorCode::MessageTooLarge));
    assert_eq!(client.produce(packed_batch(0..9, Compression::Zstd), 1).unwrap(), Ok(0));
}

#[test]
fn the_time_of_the_broker_goes_with_another_codec_and_frees_clients_from_bounds() {
    let settings = [("compression.type", "zstd"), ("log.message.timestamp.type", "LogAppendTime")];
    let broker = LocalBroker::new(4, &settings);
    let mut client = broker.connect();
    let mut builder = BatchBuilder::new();
    for time in [1, i64::MAX, 5] {
        builder.push(Timestamp::from_millis(time), None, Some(&[0; 8]), &[]).unwrap();
    }
    let sent = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
    let records = Records::Bytes(sent.into());
    let partitions = vec![produce::RequestPartition { index: 0, records }];
    let topics =
        vec![produce::RequestTopic { name: TOPIC.to_owned(), partitions, ..Default::default() }];
    let request = ProduceRequest { acks: 1, timeout_ms: 9_000, topics, ..Default::default() };
    let answered = client.call(9, &request).unwrap().topics.remove(0).partitions.remove(0);
    assert_eq!(answered.error_code, ErrorCode::None, "{:?}", answered.error_message);
    let bytes = stored(&mut client, 0);
    let batch = Batch::parse(&bytes).unwrap();
    batch.check_checksum().unwrap();
    assert_eq!(batch.compression(), Compression::Zstd);
    assert_eq!(batch.max_timestamp().millis(), answered.log_append_time_ms);
    assert!(answered.log_append_time_ms > 1_600_000_000_000);
    assert_eq!(values(&Records::Bytes(bytes.into())).len(), 3);
}

#[test]
fn times_beyond_the_bounds_are_refused_where_they_are_the_clients() {
    let broker = LocalBroker::new(5, &[]);
    let mut client = broker.connect();
    // `batch` tells a time in 2023.
    let bound = ("message.timestamp.before.max.ms", "1000");
    assert_eq!(set_topic(&mut client, bound.0, bound.1).0, ErrorCode::None);
    assert_eq!(client.produce(batch([1]), 1).unwrap(), Err(ErrorCode::InvalidTimestamp));
    let (name, value) = ("message.timestamp.type", "LogAppendTime");
    assert_eq!(set_topic(&mut client, name, value).0, ErrorCode::None);
    assert_eq!(client.produce(batch([1]), 1).unwrap(), Ok(0));
}

#[test]
fn a_batch_packed_anew_is_still_stored_once() {
    let broker = LocalBroker::new(6, &[("compression.type", "lz4"), ("offset.unit", "byte")]);
    let mut client = broker.connect();
    let sent = |base_sequence| {
        let mut builder = BatchBuilder::new();
        for number in 0..100_u64 {
            let value = number.to_be_bytes();
            builder.push(Timestamp::from_millis(1), None, Some(&value), &[]).unwrap();
        }
        let producer = ProducerStamp { id: ProducerId(0), epoch: ProducerEpoch(0), base_sequence };
        let settings = BatchSettings { producer: Some(producer), ..BatchSettings::default() };
        let mut gzip = Compressor::new(Compression::Gzip, None).unwrap();
        builder.build(&settings, &mut gzip).unwrap()
    };
    let first = client.produce(sent(0), -1).unwrap().unwrap();
    let second = client.produce(sent(100), -1).unwrap().unwrap();
    assert_eq!(client.produce(sent(0), -1).unwrap(), Ok(first));
    assert_eq!(client.produce(sent(100), -1).unwrap(), Ok(second));
    let gap = client.produce(sent(300), -1).unwrap();
    assert_eq!(gap, Err(ErrorCode::OutOfOrderSequenceNumber));
    assert_eq!(values(&Records::Bytes(stored(&mut client, 0).into())).len(), 200);
}

#[test]
fn who_does_not_know_zstd_is_told_so() {
    let broker = LocalBroker::new(7, &[("compression.type", "zstd")]);
    let mut client = broker.connect();
    let partitions = vec![fetch::RequestPartition { partition_max_bytes: 1, ..Default::default() }];
    let topic = fetch::RequestTopic { topic: TOPIC.to_owned(), partitions, ..Default::default() };
    let request = FetchRequest { topics: vec![topic], ..Default::default() };
    for (version, code) in [(9, ErrorCode::UnsupportedCompressionType), (10, ErrorCode::None)] {
        let answered = client.call(version, &request).unwrap();
        assert_eq!(answered.topics[0].partitions[0].error_code, code, "version {version}");
    }
}
