//! Batches that are not what they say: refused by code, and nothing of them is written.

use std::time::Duration;

use streamlog::record::{
    Batch, BatchBuilder, BatchSettings, Batches, Compression, Compressor, Decompressor, Limits,
    Packing, RecordError, Repacker,
};
use streamlog::types::Timestamp;
use streamlog::wire::metadata::MetadataRequest;
use streamlog::wire::produce::{Partition, ProduceRequest, RequestPartition, RequestTopic};
use streamlog::wire::{ErrorCode, Records};

use crate::support::{Connection, LocalBroker, Random, TOPIC, Witness, batch, set_topic};

/// The positions of the fields of a batch header.
const LENGTH: usize = 8;
const MAGIC: usize = 16;
const CHECKSUM: usize = 17;
const ATTRIBUTES: usize = 21;
const LAST_OFFSET_DELTA: usize = 23;
const PRODUCER_ID: usize = 43;
const RECORD_COUNT: usize = 57;
const RECORDS: usize = 61;

/// A setting under which compressed batches are taken by their checksum.
const LAX: (&str, &str) = ("strict.batch.validation", "false");

/// The batch with other bytes from `at` on, and the checksum they have.
fn with<const N: usize>(mut batch: Vec<u8>, fields: &[(usize, [u8; N])]) -> Vec<u8> {
    for (at, bytes) in fields {
        batch[*at..*at + N].copy_from_slice(bytes);
    }
    let checksum = crc32c::crc32c(&batch[ATTRIBUTES..]).to_be_bytes();
    batch[CHECKSUM..ATTRIBUTES].copy_from_slice(&checksum);
    batch
}

/// Three records in a batch that says it has four.
fn lying_count(batch: Vec<u8>) -> Vec<u8> {
    with(batch, &[(RECORD_COUNT, 4_i32.to_be_bytes()), (LAST_OFFSET_DELTA, 3_i32.to_be_bytes())])
}

/// Records of these values in one batch of this codec.
fn compressed(codec: Compression, values: &[&[u8]]) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for value in values {
        builder.push(Timestamp::from_millis(1), None, Some(value), &[]).unwrap();
    }
    let mut compressor = Compressor::new(codec, None).unwrap();
    builder.build(&BatchSettings::default(), &mut compressor).unwrap()
}

/// The result of records sent with these `acks`.
fn produce(connection: &mut Connection, records: Vec<u8>, acks: i16) -> Partition {
    let records = Records::Bytes(records.into());
    let partitions = vec![RequestPartition { index: 0, records }];
    let topics = vec![RequestTopic { name: TOPIC.to_owned(), partitions, ..Default::default() }];
    let request = ProduceRequest { acks, timeout_ms: 30_000, topics, ..Default::default() };
    connection.call(9, &request).unwrap().topics.remove(0).partitions.remove(0)
}

/// Records with these keys and times in one batch of this codec.
fn keyed(codec: Compression, records: &[(Option<&[u8]>, i64)]) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for (key, time) in records {
        builder.push(Timestamp::from_millis(*time), *key, Some(&[b'v'; 99]), &[]).unwrap();
    }
    let mut compressor = Compressor::new(codec, None).unwrap();
    builder.build(&BatchSettings::default(), &mut compressor).unwrap()
}

/// A broker refuses each of these with its code, over one connection that stays usable.
fn refuses(broker: &LocalBroker, cases: Vec<(&str, Vec<u8>, ErrorCode)>) {
    let mut witness = Witness::of(broker);
    let mut connection = broker.connect();
    for (what, records, code) in cases {
        let answered = produce(&mut connection, records, 1);
        assert_eq!(answered.error_code, code, "{what}: {:?}", answered.error_message);
        assert_eq!(answered.base_offset, -1, "{what}");
        witness.sees_no_harm();
    }
}

#[test]
fn a_batch_whose_form_lies_is_refused() {
    let good = batch([1, 2, 3]);
    let length = i32::try_from(good.len() - 12).unwrap();
    let stated = |length: i32| with(good.clone(), &[(LENGTH, length.to_be_bytes())]);
    let magic = |magic| with(good.clone(), &[(MAGIC, [magic])]);
    let mut damaged = good.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let two = [good.clone(), good.clone()].concat();
    refuses(
        &LocalBroker::new(1, &[]),
        vec![
            ("a wrong checksum", damaged, ErrorCode::CorruptMessage),
            ("a length beyond the end", stated(length + 1), ErrorCode::InvalidRecord),
            ("a huge length", stated(1_000_000), ErrorCode::InvalidRecord),
            ("a length above the limit", stated(i32::MAX), ErrorCode::MessageTooLarge),
            ("a length before the end", stated(length - 1), ErrorCode::InvalidRecord),
            ("a length of no batch", stated(48), ErrorCode::CorruptMessage),
            ("a negative length", stated(-1), ErrorCode::CorruptMessage),
            ("magic 0", magic(0), ErrorCode::UnsupportedForMessageFormat),
            ("magic 1", magic(1), ErrorCode::UnsupportedForMessageFormat),
            ("magic 3", magic(3), ErrorCode::UnsupportedForMessageFormat),
            ("two batches", two, ErrorCode::InvalidRecord),
            ("half a header", good[..30].to_vec(), ErrorCode::InvalidRecord),
            ("no bytes", Vec::new(), ErrorCode::InvalidRecord),
        ],
    );
}

#[test]
fn a_batch_whose_records_lie_is_refused() {
    let good = batch([1, 2, 3]);
    let one = 1_i32.to_be_bytes();
    let minus = (-1_i32).to_be_bytes();
    let fewer = with(good.clone(), &[(RECORD_COUNT, one), (LAST_OFFSET_DELTA, [0; 4])]);
    let huge = [(RECORD_COUNT, i32::MAX.to_be_bytes())];
    let huge_delta = [(LAST_OFFSET_DELTA, (i32::MAX - 1).to_be_bytes())];
    let record = |length: u8| with(good.clone(), &[(RECORDS, [length])]);
    refuses(
        &LocalBroker::new(2, &[]),
        vec![
            ("more records than there are", lying_count(good.clone()), ErrorCode::InvalidRecord),
            ("fewer records", fewer, ErrorCode::InvalidRecord),
            ("no records", with(good.clone(), &[(RECORD_COUNT, [0; 4])]), ErrorCode::InvalidRecord),
            ("−1 records", with(good.clone(), &[(RECORD_COUNT, minus)]), ErrorCode::InvalidRecord),
            (
                "2³¹ − 1 records",
                with(with(good.clone(), &huge), &huge_delta),
                ErrorCode::InvalidRecord,
            ),
            ("a last offset of its own", with(good.clone(), &huge_delta), ErrorCode::InvalidRecord),
            ("a record longer than the batch", record(0x7e), ErrorCode::InvalidRecord),
            ("a record of negative length", record(0x01), ErrorCode::InvalidRecord),
            ("a record of no length", record(0x00), ErrorCode::InvalidRecord),
            ("a length that never ends", record(0xff), ErrorCode::InvalidRecord),
        ],
    );
}

#[test]
fn a_batch_with_attributes_that_no_client_may_set_is_refused() {
    let attributes = |bits: i16| with(batch([1]), &[(ATTRIBUTES, bits.to_be_bytes())]);
    let in_transaction = with(attributes(1 << 4), &[(PRODUCER_ID, 1_i64.to_be_bytes())]);
    let in_transaction = with(in_transaction, &[(PRODUCER_ID + 8, [0; 6])]);
    refuses(
        &LocalBroker::new(3, &[]),
        vec![
            ("log append time", attributes(1 << 3), ErrorCode::InvalidRecord),
            ("a transaction without a producer", attributes(1 << 4), ErrorCode::InvalidRecord),
            ("a transaction", in_transaction, ErrorCode::InvalidTxnState),
            ("a transaction's marker", attributes(1 << 5), ErrorCode::InvalidRecord),
            ("a bit without a meaning", attributes(1 << 14), ErrorCode::InvalidRecord),
            ("a codec without a name", attributes(7), ErrorCode::UnsupportedCompressionType),
        ],
    );
}

#[test]
fn all_records_that_a_compacted_topic_does_not_take_are_named() {
    let broker = LocalBroker::new(13, &[]);
    let mut client = broker.connect();
    assert_eq!(set_topic(&mut client, "cleanup.policy", "compact").0, ErrorCode::None);
    let now = 1_700_000_000_000;
    let (key, far) = (Some(b"k".as_slice()), i64::MAX);
    let cases = [
        (vec![(key, now), (None, now), (key, now), (None, now)], ErrorCode::InvalidRecord),
        (vec![(key, now), (key, far), (key, now), (None, far)], ErrorCode::InvalidTimestamp),
    ];
    for (records, code) in cases {
        for codec in [Compression::None, Compression::Lz4] {
            let refused = produce(&mut client, keyed(codec, &records), -1);
            assert_eq!(refused.error_code, code, "{codec}");
            let named: Vec<i32> = refused.record_errors.iter().map(|row| row.batch_index).collect();
            assert_eq!(named, [1, 3], "{codec}");
            assert!(refused.record_errors.iter().all(|row| row.message.is_some()));
            let said = refused.error_message.unwrap();
            assert!(said.contains("record 1") && said.contains("1 more"), "{said}");
        }
    }
    let many = vec![(None, now); 500];
    let refused = produce(&mut client, keyed(Compression::None, &many), -1);
    assert_eq!(refused.record_errors.len(), 500);
    let worded = refused.record_errors.iter().filter(|row| row.message.is_some()).count();
    assert!((1..500).contains(&worded), "{worded} rows have words");
    broker.stop().unwrap();
}

#[test]
fn a_batch_above_max_message_bytes_is_refused_and_one_at_it_is_not() {
    let largest = compressed(Compression::None, &[&[b'x'; 1000]]);
    let above = compressed(Compression::None, &[&[b'x'; 1001]]);
    let limit = largest.len().to_string();
    let broker = LocalBroker::new(4, &[("message.max.bytes", &limit)]);
    let large = vec![("a byte more", above, ErrorCode::MessageTooLarge)];
    refuses(&broker, large);
    let accepted = produce(&mut broker.connect(), largest, 1);
    assert_eq!(accepted.error_code, ErrorCode::None);
}

#[test]
fn acks_that_kafka_does_not_have_are_refused() {
    let broker = LocalBroker::new(5, &[]);
    let mut witness = Witness::of(&broker);
    let mut connection = broker.connect();
    for acks in [7, 2, -2, i16::MIN, i16::MAX] {
        let answered = produce(&mut connection, batch([1]), acks);
        assert_eq!(answered.error_code, ErrorCode::InvalidRequiredAcks, "acks={acks}");
        witness.sees_no_harm();
    }
}

#[test]
fn a_mistake_with_acks_0_ends_its_connection() {
    let broker = LocalBroker::new(6, &[]);
    let mut witness = Witness::of(&broker);
    let mut connection = broker.connect();
    connection.send_batch(lying_count(batch([1, 2, 3])), 0).unwrap();
    assert!(connection.until_closed().unwrap().is_empty());
    witness.sees_no_harm();
}

#[test]
fn without_validation_a_compressed_batch_that_lies_harms_only_its_readers() {
    let broker = LocalBroker::new(7, &[LAX]);
    let mut connection = broker.connect();
    let next = batch([9]);
    let lying = lying_count(compressed(Compression::Zstd, &[&[b'x'; 500][..]; 3]));
    assert_eq!(produce(&mut connection, lying, 1).error_code, ErrorCode::None);
    connection.send_fetch(0, Duration::ZERO).unwrap();
    let Records::Bytes(bytes) = connection.receive_records().unwrap().records else { panic!() };
    let batch = Batches::new(&bytes).next().unwrap().unwrap();
    let limits = Limits::default();
    let mut unpacker = Decompressor::new(limits);
    let payload = batch.decompressed(&mut unpacker).unwrap();
    let read: Result<Vec<_>, RecordError> = batch.records(&payload, &limits).collect();
    assert!(matches!(read, Err(RecordError::Record { index: 3, .. })), "{read:?}");
    // The offsets it claims are taken; what follows it can be read.
    assert_eq!(connection.produce(next, 1).unwrap(), Ok(4));
    assert_eq!(connection.read_from(4).unwrap(), [(4, 9)]);
}

/// A compressed batch whose records differ from what its header says, in every way there is.
fn compressed_lies(codec: Compression) -> Vec<(&'static str, Vec<u8>, ErrorCode)> {
    let good = compressed(codec, &[&[b'x'; 500][..]; 3]);
    let invalid = |what, batch| (what, batch, ErrorCode::InvalidRecord);
    let resized = |mut batch: Vec<u8>, size: usize, filler| {
        batch.resize(size, filler);
        let length = i32::try_from(size - 12).unwrap();
        with(batch, &[(LENGTH, length.to_be_bytes())])
    };
    let counting = |records: i32| {
        let last = records - 1;
        with(
            good.clone(),
            &[(RECORD_COUNT, records.to_be_bytes()), (LAST_OFFSET_DELTA, last.to_be_bytes())],
        )
    };
    let garbage = with(good.clone(), &[(RECORDS, [0xa5; 12])]);
    vec![
        invalid("more records than there are", counting(4)),
        invalid("fewer records than there are", counting(2)),
        invalid("2³¹ − 1 records", counting(i32::MAX)),
        invalid("a stream cut off", resized(good.clone(), good.len() - 3, 0)),
        invalid("bytes behind the stream", resized(good.clone(), good.len() + 9, 0xff)),
        invalid("no stream of the codec", garbage),
        invalid("nothing at all", resized(good.clone(), RECORDS, 0)),
        invalid("offsets with a gap", gap(codec)),
    ]
}

/// Three records numbered 0, 1 and 1.
fn gap(codec: Compression) -> Vec<u8> {
    let mut plain = compressed(Compression::None, &[&b"abc"[..]; 3]);
    let record = (plain.len() - RECORDS) / 3;
    // Behind a length, attributes and a difference of times, a byte each.
    let number = RECORDS + 2 * record + 3;
    assert_eq!(plain[number], 4, "the number of the third record, folded");
    plain[number] = 2;
    let plain = with(plain, &[(MAGIC, [2])]);
    let packing = Packing { compression: codec, level: None };
    let batch = Batch::parse(&plain).unwrap();
    Repacker::default().repack(&batch, &plain[RECORDS..], packing, usize::MAX).unwrap()
}

const CODECS: [Compression; 4] =
    [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

#[test]
fn a_compressed_batch_that_lies_is_refused() {
    let cases: Vec<_> = CODECS.into_iter().flat_map(compressed_lies).collect();
    refuses(&LocalBroker::new(8, &[]), cases.clone());
    // So is one that the topic stores otherwise packed: it has to be unpacked anyway.
    refuses(&LocalBroker::new(8, &[LAX, ("compression.type", "uncompressed")]), cases);
}

#[test]
fn a_compressed_batch_that_understates_its_latest_time_is_stored_with_the_true_one() {
    const MAX_TIMESTAMP: usize = 35;
    let broker = LocalBroker::new(10, &[]);
    let mut connection = broker.connect();
    for codec in CODECS {
        let understated = with(compressed(codec, &[b"x"]), &[(MAX_TIMESTAMP, [0; 8])]);
        assert_eq!(produce(&mut connection, understated, 1).error_code, ErrorCode::None);
    }
    connection.send_fetch(0, Duration::ZERO).unwrap();
    let Records::Bytes(bytes) = connection.receive_records().unwrap().records else { panic!() };
    let latest: Vec<_> =
        Batches::new(&bytes).map(|batch| batch.unwrap().max_timestamp().millis()).collect();
    assert_eq!(latest, [1; CODECS.len()]);
}

#[test]
fn a_bomb_is_refused_before_it_has_unpacked() {
    refuses_bombs(&LocalBroker::new(9, &[]));
    refuses_bombs(&LocalBroker::new(9, &[LAX, ("compression.type", "snappy")]));
}

fn refuses_bombs(broker: &LocalBroker) {
    let mut witness = Witness::of(broker);
    let zeros = vec![0; 48 << 20];
    for codec in [Compression::Zstd, Compression::Gzip] {
        let bomb = compressed(codec, &[&zeros]);
        assert!(bomb.len() < 100_000, "{codec}: {} bytes", bomb.len());
        let answered = produce(&mut broker.connect(), bomb, 1);
        assert_eq!(answered.error_code, ErrorCode::MessageTooLarge, "{codec}");
        let said = answered.error_message.unwrap();
        assert!(said.contains("unpack to more than"), "{codec}: {said}");
        witness.sees_no_harm();
    }
    // The topic is still what it was.
    let all = broker.connect().call(9, &MetadataRequest { topics: None, ..Default::default() });
    assert_eq!(all.unwrap().topics.len(), 1);
}

#[test]
fn many_small_bombs_in_a_request_unpack_to_no_more_than_a_few_large_ones() {
    let broker = LocalBroker::new(11, &[("num.partitions", "101")]);
    // It writes to partition 0, and the bombs go to the others.
    let mut witness = Witness::of(&broker);
    // Each is within the limits of a batch: 15 MiB of 20 KiB. Together they would be 1.5 GiB.
    let mut random = Random::new(11);
    let mut value: Vec<u8> = (0..20_000).map(|_| random.number().to_be_bytes()[0]).collect();
    value.resize(15 << 20, 0);
    let bomb = compressed(Compression::Zstd, &[&value]);
    assert!((16_000..50_000).contains(&bomb.len()), "{} bytes", bomb.len());
    let records = || Records::Bytes(bomb.clone().into());
    let partitions =
        (1..=100).map(|index| RequestPartition { index, records: records() }).collect();
    let topics = vec![RequestTopic { name: TOPIC.to_owned(), partitions, ..Default::default() }];
    let request = ProduceRequest { acks: 1, timeout_ms: 30_000, topics, ..Default::default() };
    let answered = broker.connect().call(9, &request).unwrap().topics.remove(0).partitions;
    let stored = answered.iter().filter(|part| part.error_code == ErrorCode::None).count();
    assert!((1..=4).contains(&stored), "{stored} were unpacked");
    let (first, others) = answered.split_at(stored);
    assert!(first.iter().all(|part| part.error_code == ErrorCode::None), "the first are taken");
    assert!(others.iter().all(|part| part.error_code == ErrorCode::MessageTooLarge));
    witness.sees_no_harm();
}
