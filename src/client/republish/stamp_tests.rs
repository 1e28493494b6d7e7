//! Published batches have the records of the staged batches, with another stamp.

use super::Stamp;
use super::stamp::OffsetUnit;
use crate::client::{ConfigEntry, ConfigSource};
use crate::record::{
    Batch, BatchBuilder, BatchRewriter, BatchSettings, Compression, Compressor, Decompressor,
    HeaderMut, Limits, ProduceRules, ProducerStamp, validate_produced,
};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

fn stamp(sequence: i32) -> Stamp {
    Stamp { producer: ProducerId(77), epoch: ProducerEpoch(3), sequence }
}

/// A batch from a staged log that counts bytes: its offsets are not those of a produced batch.
fn staged(compression: Compression) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for number in 0..100_i64 {
        let value = vec![b'v'; usize::try_from(number).unwrap()];
        builder.push(Timestamp::from_millis(number), Some(b"k"), Some(&value), &[]).unwrap();
    }
    let producer = ProducerStamp { id: ProducerId(5), epoch: ProducerEpoch(0), base_sequence: 9 };
    let settings = BatchSettings { producer: Some(producer), ..BatchSettings::default() };
    let mut compressor = Compressor::new(compression, None).unwrap();
    let mut bytes = builder.build(&settings, &mut compressor).unwrap();
    let mut header = HeaderMut::of_batch(&mut bytes).unwrap();
    header.set_base_offset(Offset::new(4_000));
    header.set_leader_epoch(LeaderEpoch(8));
    header.set_last_offset_delta(5_000);
    bytes
}

#[test]
fn a_restamped_batch_is_valid_and_has_the_same_records() {
    for compression in [Compression::None, Compression::Zstd] {
        let bytes = staged(compression);
        let before = Batch::parse(&bytes).unwrap();
        let sent = stamp(41).put_on(&before);
        let rules = ProduceRules::for_batches_up_to(1 << 20);
        let after = validate_produced(&sent, &rules).unwrap().batch;
        let expected =
            ProducerStamp { id: ProducerId(77), epoch: ProducerEpoch(3), base_sequence: 41 };
        assert_eq!(after.producer(), Some(expected));
        assert_eq!((after.base_offset(), after.last_offset_delta()), (Offset::new(0), 99));
        assert_eq!(after.leader_epoch(), LeaderEpoch::NONE);
        assert_eq!((after.payload(), after.record_count()), (before.payload(), 100));
        let mut decompressor = Decompressor::default();
        let records = after.decompressed(&mut decompressor).unwrap();
        assert_eq!(after.records(&records, decompressor.limits()).count(), 100);
    }
}

#[test]
fn restamping_does_not_hide_damage() {
    let mut bytes = staged(Compression::None);
    *bytes.last_mut().unwrap() ^= 1;
    let sent = stamp(0).put_on(&Batch::parse(&bytes).unwrap());
    assert!(!Batch::parse(&sent).unwrap().checksum_matches());
}

#[test]
fn sequence_numbers_wrap_to_zero() {
    assert_eq!(stamp(7).records_up_to(6), 0);
    assert_eq!(stamp(0).records_up_to(i32::MAX), 0);
    assert_eq!(stamp(i32::MAX).records_up_to(3), 5);
    assert_eq!(stamp(5).after(0), stamp(5));
    assert_eq!(stamp(i32::MAX).after(1), stamp(0));
    assert_eq!(stamp(i32::MAX - 1).after(12), stamp(10));
    assert_eq!(stamp(7).after(1 << 31), stamp(7));
    assert_eq!(stamp(7).after(u64::MAX), stamp(6));
    for (begin, records) in [(0, 0), (0, 9), (i32::MAX, 1), (i32::MAX - 4, 100)] {
        assert_eq!(stamp(begin).records_before(stamp(begin).after(records).sequence), records);
    }
}

/// A published batch of four records of which compaction has removed the first `gone`.
fn published(sequence: i32, gone: u64) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for number in 0..4 {
        builder.push(Timestamp::from_millis(number), Some(b"k"), Some(b"v"), &[]).unwrap();
    }
    let producer =
        ProducerStamp { id: ProducerId(77), epoch: ProducerEpoch(3), base_sequence: sequence };
    let settings = BatchSettings { producer: Some(producer), ..BatchSettings::default() };
    let bytes = builder.build(&settings, &mut Compressor::none()).unwrap();
    let batch = Batch::parse(&bytes).unwrap();
    let mut rewriter = BatchRewriter::new(batch, None);
    let (payload, limits) = (batch.payload(), Limits::default());
    let mut records = batch.records(payload, &limits);
    for place in 0..4 {
        let start = records.position();
        let record = records.next().unwrap().unwrap();
        if place >= gone {
            rewriter.keep(&record, &payload[start..records.position()]).unwrap();
        }
    }
    rewriter.finish(&mut Compressor::none()).unwrap()
}

#[test]
fn a_compacted_batch_still_gives_the_number_of_records_published() {
    for gone in 0..=4 {
        for (first, sequence) in [(5, 5), (5, 9), (i32::MAX - 1, i32::MAX - 1), (i32::MAX, 3)] {
            let bytes = published(sequence, gone);
            let batch = Batch::parse(&bytes).unwrap();
            assert_eq!(u64::from(batch.record_count()), 4 - gone);
            let before = stamp(first).records_before(sequence);
            let through = stamp(first).records_through(&batch, OffsetUnit::Record);
            assert_eq!(through, Some(before + 4), "{gone} of 4 gone, {before} before");
        }
    }
}

#[test]
fn with_byte_offsets_the_record_count_of_the_batch_is_used() {
    let mut bytes = published(7, 0);
    HeaderMut::of_batch(&mut bytes).unwrap().set_last_offset_delta(5_000);
    let batch = Batch::parse(&bytes).unwrap();
    assert_eq!(stamp(5).records_through(&batch, OffsetUnit::Byte), Some(6));
}

#[test]
fn a_batch_of_another_producer_is_ignored() {
    let bytes = published(7, 0);
    let batch = Batch::parse(&bytes).unwrap();
    for other in [
        Stamp { producer: ProducerId(78), ..stamp(7) },
        Stamp { epoch: ProducerEpoch(4), ..stamp(7) },
    ] {
        assert_eq!(other.records_through(&batch, OffsetUnit::Record), None);
    }
}

#[test]
fn the_offset_unit_comes_from_the_topic_and_defaults_to_records() {
    let unit = |name: &str, value: &str| {
        OffsetUnit::of(&[ConfigEntry {
            name: name.to_owned(),
            value: Some(value.to_owned()),
            source: ConfigSource::Topic,
            is_read_only: true,
            documentation: None,
        }])
    };
    assert_eq!(unit("offset.unit", "byte"), OffsetUnit::Byte);
    assert_eq!(unit("offset.unit", "record"), OffsetUnit::Record);
    assert_eq!(unit("cleanup.policy", "byte"), OffsetUnit::Record);
}

#[test]
#[should_panic(expected = "batch at 0 has 0 records")]
fn a_batch_without_records_is_not_stamped() {
    let bytes = published(7, 4);
    stamp(0).put_on(&Batch::parse(&bytes).unwrap());
}
