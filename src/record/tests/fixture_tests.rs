//! Batches of other clients read back as their original records.

use super::sample::{Sample, push_all, read};
use crate::record::{
    Batch, BatchBuilder, BatchSettings, Compression, Compressor, HeaderMut, Limits, ProduceRules,
    ProducerStamp, validate_produced,
};
use crate::types::{LeaderEpoch, ProducerEpoch, ProducerId};

macro_rules! fixture {
    ($client:literal, $codec:literal) => {
        (
            concat!($client, "-", $codec),
            $codec.parse().unwrap(),
            bytes_of(include_str!(concat!(
                "../../../tests/fixtures/batches/",
                $client,
                "-",
                $codec,
                ".hex"
            ))),
        )
    };
}

fn fixtures() -> Vec<(&'static str, Compression, Vec<u8>)> {
    vec![
        fixture!("kafka-python", "none"),
        fixture!("kafka-python", "gzip"),
        fixture!("kafka-python", "snappy"),
        fixture!("kafka-python", "lz4"),
        fixture!("kafka-python", "zstd"),
        fixture!("librdkafka", "none"),
        fixture!("librdkafka", "gzip"),
        fixture!("librdkafka", "snappy"),
        fixture!("librdkafka", "lz4"),
        fixture!("librdkafka", "zstd"),
    ]
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    let byte = |pair: &[u32]| u8::try_from(pair.iter().fold(0, |sum, digit| sum * 16 + digit));
    digits.chunks(2).map(|pair| byte(pair).unwrap()).collect()
}

fn expected() -> Vec<Sample> {
    let start = 1_700_000_000_000;
    vec![
        Sample::of(start, Some(b"k0"), Some(&b"value-0 ".repeat(20)))
            .with_header(b"h", Some(b"1"))
            .with_header(b"h", None)
            .with_header(b"g", Some(b"")),
        Sample::of(start + 5, None, Some(b"plain")),
        Sample::of(start - 3, Some(b"k2"), None),
        Sample::of(start + 300_000, Some(b"k3"), Some(&[b'x'; 300]))
            .with_header(b"trace", Some(&[0, 1, 2, 3, 4, 5, 6, 7])),
    ]
}

#[test]
fn the_batches_of_other_clients_are_read_and_accepted() {
    let rules = ProduceRules { walk_compressed: true, ..ProduceRules::for_batches_up_to(1 << 20) };
    for (name, compression, bytes) in fixtures() {
        let checked = validate_produced(&bytes, &rules).unwrap_or_else(|e| panic!("{name}: {e}"));
        let batch = checked.batch;
        assert_eq!(batch.compression(), compression, "{name}");
        assert_eq!((batch.record_count(), batch.last_offset_delta()), (4, 3), "{name}");
        assert_eq!(batch.max_timestamp().millis(), 1_700_000_300_000, "{name}");
        assert_eq!(checked.max_timestamp, Some(batch.max_timestamp()), "{name}");
        assert_eq!(read(&batch, &Limits::default()).unwrap(), expected(), "{name}");
    }
}

#[test]
fn the_stamp_of_an_idempotent_client_is_read() {
    for (name, base_sequence, last_sequence) in
        [("kafka-python-none", i32::MAX - 1, 1), ("librdkafka-none", 0, 3)]
    {
        let (_, _, bytes) = fixtures().into_iter().find(|(n, ..)| *n == name).unwrap();
        let batch = Batch::parse(&bytes).unwrap();
        let stamp = ProducerStamp { id: ProducerId(4711), epoch: ProducerEpoch(3), base_sequence };
        assert_eq!(batch.producer(), Some(stamp), "{name}");
        assert_eq!(batch.last_sequence(), Some(last_sequence), "{name}");
    }
}

#[test]
fn our_own_uncompressed_batch_is_the_same_as_theirs_byte_for_byte() {
    for (name, _, theirs) in fixtures().into_iter().filter(|(name, ..)| name.ends_with("none")) {
        let mut builder = BatchBuilder::new();
        push_all(&mut builder, &expected());
        let producer = Batch::parse(&theirs).unwrap().producer();
        let settings = BatchSettings { producer, ..BatchSettings::default() };
        let mut ours = builder.build(&settings, &mut Compressor::none()).unwrap();
        // Both clients write the leader epoch 0, which a leader overwrites.
        HeaderMut::of_batch(&mut ours).unwrap().set_leader_epoch(LeaderEpoch(0));
        assert_eq!(ours, theirs, "{name}");
    }
}
