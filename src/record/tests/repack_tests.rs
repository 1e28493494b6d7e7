//! A recompressed batch has the same contents.

use super::sample::{Sample, build, four, read};
use crate::record::{
    Batch, Compression, HeaderMut, Limits, Packing, ProduceRules, ProducerStamp, RecordError,
    Repacker, validate_produced,
};
use crate::types::{ProducerEpoch, ProducerId, Timestamp};

const SIZE_MAX: usize = 10_000;

fn stored_as(compression: Compression) -> ProduceRules {
    let packing = Some(Packing { compression, level: None });
    ProduceRules { packing, ..ProduceRules::for_batches_up_to(SIZE_MAX) }
}

/// The batch as stored under these rules, if it differs from the input.
fn repacked(bytes: &[u8], rules: &ProduceRules) -> Result<Option<Vec<u8>>, RecordError> {
    let checked = validate_produced(bytes, rules)?;
    let Some((packing, records)) = checked.repack else { return Ok(None) };
    let max = rules.batch_bytes_max;
    Repacker::default().repack(&checked.batch, &records, packing, max).map(Some)
}

fn of_a_producer(samples: &[Sample], compression: Compression) -> Vec<u8> {
    let mut bytes = build(samples, compression);
    HeaderMut::of_batch(&mut bytes).unwrap().set_producer(ProducerStamp {
        id: ProducerId(70),
        epoch: ProducerEpoch(3),
        base_sequence: 12,
    });
    bytes
}

#[test]
fn a_batch_keeps_its_records_and_its_producer_whatever_codec_it_is_stored_with() {
    let limits = Limits::default();
    for from in Compression::ALL {
        let bytes = of_a_producer(&four(), from);
        let came = Batch::parse(&bytes).unwrap();
        for to in Compression::ALL {
            let stored = repacked(&bytes, &stored_as(to)).unwrap();
            assert_eq!(stored.is_none(), from == to, "{from} as {to}");
            let Some(stored) = stored else { continue };
            let batch = Batch::parse(&stored).unwrap();
            batch.check_checksum().unwrap();
            assert_eq!(batch.compression(), to);
            assert_eq!(read(&batch, &limits).unwrap(), four(), "{from} as {to}");
            assert_eq!(batch.producer(), came.producer());
            assert_eq!(batch.last_sequence(), Some(15));
            let of = |b: &Batch<'_>| (b.record_count(), b.last_offset_delta(), b.base_timestamp());
            assert_eq!(of(&batch), of(&came));
            assert_eq!(batch.max_timestamp(), came.max_timestamp());
        }
    }
}

#[test]
fn the_leaders_timestamp_can_be_set_in_a_recompressed_batch() {
    let bytes = build(&four(), Compression::Gzip);
    let mut stored = repacked(&bytes, &stored_as(Compression::Zstd)).unwrap().unwrap();
    let now = Timestamp::from_millis(5_000_000);
    HeaderMut::of_batch(&mut stored).unwrap().set_log_append_time(now);
    let batch = Batch::parse(&stored).unwrap();
    batch.check_checksum().unwrap();
    assert!(read(&batch, &Limits::default()).unwrap().iter().all(|s| s.timestamp == 5_000_000));
}

#[test]
fn a_batch_that_grows_too_large_is_refused() {
    let bytes = build(&four(), Compression::Zstd);
    let tight = ProduceRules { batch_bytes_max: 500, ..stored_as(Compression::None) };
    let refusal = repacked(&bytes, &tight).unwrap_err();
    assert!(matches!(refusal, RecordError::TooLarge { size, max: 500 } if size > 500));
}

#[test]
fn recompression_detects_inconsistent_records() {
    let mut bytes = build(&four(), Compression::Lz4);
    bytes[57..61].copy_from_slice(&5_i32.to_be_bytes());
    bytes[23..27].copy_from_slice(&4_i32.to_be_bytes());
    let checksum = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    assert!(repacked(&bytes, &stored_as(Compression::Lz4)).unwrap().is_none());
    for to in [Compression::None, Compression::Snappy] {
        let refusal = repacked(&bytes, &stored_as(to)).unwrap_err();
        assert_eq!(refusal.record_index(), Some(4), "{refusal}");
    }
}

#[test]
fn a_level_is_used_and_may_change_between_batches() {
    let line = |n: u32| format!("line {n} of {}: {}\n", n * 7_919 % 1_000, n % 7).into_bytes();
    let text: Vec<u8> = (0..4_000).flat_map(line).collect();
    let bytes = build(&[Sample::of(1, None, Some(&text))], Compression::None);
    let batch = Batch::parse(&bytes).unwrap();
    let mut repacker = Repacker::default();
    let mut size = |compression, level| {
        let packing = Packing { compression, level: Some(level) };
        let stored = repacker.repack(&batch, batch.payload(), packing, 1 << 20).unwrap();
        let stored = Batch::parse(&stored).unwrap();
        assert_eq!(read(&stored, &Limits::default()).unwrap()[0].value.as_ref(), Some(&text));
        stored.size()
    };
    assert!(size(Compression::Lz4, 12) < size(Compression::Lz4, 9));
    assert!(size(Compression::Gzip, 9) < size(Compression::Gzip, 1));
    assert!(size(Compression::Zstd, 19) < size(Compression::Zstd, 1));
    let packing = Packing { compression: Compression::Gzip, level: Some(0) };
    assert!(repacker.repack(&batch, batch.payload(), packing, 1 << 20).is_err());
}
