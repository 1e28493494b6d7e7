//! Batches that a topic does not allow are refused, with the name of the fault.

use super::sample::{Sample, build, four, push_all};
use crate::record::{
    BatchBuilder, BatchSettings, Compression, Compressor, HeaderMut, ProduceRules, ProducerStamp,
    RecordError, RecordFault, RejectedRecord, Rejection, validate_produced,
};
use crate::types::{Offset, ProducerEpoch, ProducerId, Timestamp};

fn rules() -> ProduceRules {
    ProduceRules::for_batches_up_to(10_000)
}

fn refusal(bytes: &[u8], rules: &ProduceRules) -> RecordError {
    validate_produced(bytes, rules).unwrap_err()
}

/// A batch of four records with `value` at `place` and a valid checksum.
fn altered(place: usize, value: &[u8], compression: Compression) -> Vec<u8> {
    let mut bytes = build(&four(), compression);
    bytes[place..place + value.len()].copy_from_slice(value);
    let checksum = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// The rejections of records without a key by a compacted topic.
fn without_key(samples: &[Sample]) -> Vec<RejectedRecord> {
    let keyless = (0..).zip(samples).filter(|(_, sample)| sample.key.is_none());
    let rejected = |(index, _)| RejectedRecord { index: Some(index), reason: Rejection::NoKey };
    keyless.map(rejected).collect()
}

#[track_caller]
fn assert_forbidden(bytes: &[u8], name: &str) {
    match refusal(bytes, &rules()) {
        RecordError::Header { field, .. } => assert_eq!(field, name),
        other => panic!("{name}: {other}"),
    }
}

#[test]
fn a_valid_batch_of_every_codec_is_accepted() {
    for compression in Compression::ALL {
        let bytes = build(&four(), compression);
        let checked = validate_produced(&bytes, &rules()).unwrap();
        assert_eq!(checked.batch.compression(), compression);
        let walked = compression == Compression::None;
        let latest = walked.then_some(Timestamp::from_millis(301_000));
        assert_eq!(checked.max_timestamp, latest);
        let strict = ProduceRules { walk_compressed: true, ..rules() };
        let checked = validate_produced(&bytes, &strict).unwrap();
        assert_eq!(checked.max_timestamp, Some(Timestamp::from_millis(301_000)));
    }
}

#[test]
fn a_batch_must_be_whole_and_alone() {
    let bytes = build(&four(), Compression::None);
    let twice = [&bytes[..], &bytes].concat();
    assert!(matches!(refusal(&twice, &rules()), RecordError::Size { .. }));
    let cut = &bytes[..bytes.len() - 1];
    assert!(matches!(refusal(cut, &rules()), RecordError::Size { .. }));
    assert!(matches!(refusal(&[], &rules()), RecordError::Size { held: 0, .. }));
}

#[test]
fn the_size_a_topic_allows_includes_the_header() {
    let bytes = build(&four(), Compression::None);
    let size = bytes.len();
    let just = ProduceRules { batch_bytes_max: size, ..rules() };
    assert!(validate_produced(&bytes, &just).is_ok());
    let less = ProduceRules { batch_bytes_max: size - 1, ..rules() };
    assert!(matches!(
        refusal(&bytes, &less),
        RecordError::TooLarge { size: s, max } if s == size && max == size - 1
    ));
}

#[test]
fn old_formats_and_wrong_lengths_are_distinguished() {
    for magic in [0, 1, 3] {
        let bytes = altered(16, &[magic], Compression::None);
        assert!(matches!(refusal(&bytes, &rules()), RecordError::Magic { .. }));
    }
    for stated in [i32::MIN, -1, 0, 48] {
        let bytes = altered(8, &stated.to_be_bytes(), Compression::None);
        assert!(
            matches!(refusal(&bytes, &rules()), RecordError::Length { stated: s } if s == stated)
        );
    }
}

#[test]
fn damage_is_distinguished_from_illegal_values() {
    // A flipped sign of the last offset delta counts as damage in transit, so the sender may retry.
    let mut bytes = build(&four(), Compression::None);
    bytes[23] ^= 0x80;
    assert!(matches!(refusal(&bytes, &rules()), RecordError::Checksum { .. }));
    let bytes = altered(23, &(-1_i32).to_be_bytes(), Compression::None);
    assert_forbidden(&bytes, "last offset delta");
}

#[test]
fn a_client_does_not_choose_its_offsets() {
    let mut bytes = build(&four(), Compression::None);
    HeaderMut::of_batch(&mut bytes).unwrap().set_base_offset(Offset::new(1));
    assert_forbidden(&bytes, "base offset");
    assert_forbidden(&altered(0, &(-1_i64).to_be_bytes(), Compression::None), "base offset");
    for delta in [0_i32, 2, 4, i32::MAX] {
        let bytes = altered(23, &delta.to_be_bytes(), Compression::None);
        assert_forbidden(&bytes, "last offset delta");
    }
}

#[test]
fn a_batch_without_records_is_refused() {
    assert_forbidden(&altered(57, &[0; 4], Compression::None), "record count");
    assert_forbidden(&altered(57, &(-1_i32).to_be_bytes(), Compression::None), "record count");
}

#[test]
fn a_client_sets_no_attributes_but_its_own() {
    assert_forbidden(&altered(22, &[1 << 3], Compression::None), "timestamp type");
    for attributes in [1_i16 << 5, 1 << 6, 1 << 7, 1 << 14, i16::MIN] {
        let bytes = altered(21, &attributes.to_be_bytes(), Compression::None);
        assert_forbidden(&bytes, "attributes");
    }
    for id in 5..8 {
        let bytes = altered(22, &[id], Compression::None);
        assert!(matches!(refusal(&bytes, &rules()), RecordError::Codec { id: i } if i == id));
    }
}

#[test]
fn the_fields_of_a_producer_must_be_set_together() {
    let with = |epoch, base_sequence, is_transactional| {
        let epoch = ProducerEpoch(epoch);
        let producer = ProducerStamp { id: ProducerId(1), epoch, base_sequence };
        let mut builder = BatchBuilder::new();
        push_all(&mut builder, &four());
        let settings = BatchSettings { producer: Some(producer), is_transactional };
        builder.build(&settings, &mut Compressor::none()).unwrap()
    };
    assert!(validate_produced(&with(0, 0, true), &rules()).is_ok());
    assert_forbidden(&with(0, -1, false), "base sequence");
    assert_forbidden(&with(-1, 0, false), "producer epoch");
    assert_forbidden(&altered(22, &[1 << 4], Compression::None), "producer id");
}

#[test]
fn the_records_of_an_uncompressed_batch_are_always_checked() {
    // The offset delta is byte 3 of the second record, after one byte each of length, attributes
    // and timestamp delta.
    let mut bytes = build(&[four()[1].clone(), four()[1].clone()], Compression::None);
    let record = 61 + (bytes.len() - 61) / 2;
    assert_eq!(bytes[record + 3], 2);
    bytes[record + 3] = 0;
    let checksum = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    assert!(matches!(
        refusal(&bytes, &rules()),
        RecordError::Record { index: 1, fault: RecordFault::OffsetDelta(0) }
    ));
}

#[test]
fn strict_rules_detect_inconsistent_compressed_records() {
    for compression in &Compression::ALL[1..] {
        let mut bytes = build(&four(), *compression);
        let five = 5_i32.to_be_bytes();
        bytes[57..61].copy_from_slice(&five);
        bytes[23..27].copy_from_slice(&4_i32.to_be_bytes());
        let checksum = crc32c::crc32c(&bytes[21..]);
        bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
        assert!(validate_produced(&bytes, &rules()).is_ok());
        let strict = ProduceRules { walk_compressed: true, ..rules() };
        assert!(matches!(
            refusal(&bytes, &strict),
            RecordError::Record { index: 4, fault: RecordFault::Truncated }
        ));
    }
}

#[test]
fn a_compacted_topic_needs_keys_whatever_the_codec() {
    let rules = ProduceRules { keys_required: true, ..rules() };
    let samples = [four(), four()].concat();
    let keyless = without_key(&samples);
    assert_eq!(keyless.len(), 2, "a single one would not show that all are listed");
    for compression in Compression::ALL {
        let error = refusal(&build(&samples, compression), &rules);
        assert!(
            matches!(&error, RecordError::Rejected(records) if *records == keyless),
            "{compression}: {error}"
        );
    }
    let keyed = [Sample::of(1, Some(b""), None)];
    assert!(validate_produced(&build(&keyed, Compression::None), &rules).is_ok());
}

#[test]
fn times_outside_the_bounds_are_refused_with_the_number_of_the_record() {
    let rules = ProduceRules {
        earliest: Timestamp::from_millis(997),
        latest: Timestamp::from_millis(300_999),
        ..rules()
    };
    let error = refusal(&build(&four(), Compression::None), &rules);
    assert_eq!(error.record_index(), Some(3), "{error}");
    let late = Rejection::Timestamp(Timestamp::from_millis(301_000));
    let rejected = vec![RejectedRecord { index: Some(3), reason: late }];
    assert!(matches!(&error, RecordError::Rejected(records) if *records == rejected), "{error}");
    let error = refusal(&build(&four(), Compression::Gzip), &rules);
    assert!(matches!(&error, RecordError::Rejected(records) if records[0].index.is_none()));
    let timeless = [Sample::of(-1, None, Some(b"x"))];
    assert!(validate_produced(&build(&timeless, Compression::None), &rules).is_ok());
}

#[test]
fn a_record_has_at_most_a_thousand_headers() {
    let mut sample = Sample::of(1, None, None);
    for _ in 0..1_000 {
        sample = sample.with_header(b"h", None);
    }
    let just = build(std::slice::from_ref(&sample), Compression::None);
    assert!(validate_produced(&just, &rules()).is_ok());
    let over = build(&[sample.with_header(b"h", None)], Compression::None);
    assert!(matches!(
        refusal(&over, &rules()),
        RecordError::Record { index: 0, fault: RecordFault::Headers(1_001) }
    ));
}
