//! What is published differs from what was staged in its stamp alone.

use super::Stamp;
use crate::record::{
    Batch, BatchBuilder, BatchSettings, Compression, Compressor, Decompressor, HeaderMut,
    ProduceRules, ProducerStamp, validate_produced,
};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

fn stamp(sequence: i32) -> Stamp {
    Stamp { producer: ProducerId(77), epoch: ProducerEpoch(3), sequence }
}

/// A batch as a staged log has it: with its offset, and in a topic that counts bytes.
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
fn a_batch_that_was_damaged_stays_damaged() {
    let mut bytes = staged(Compression::None);
    *bytes.last_mut().unwrap() ^= 1;
    let sent = stamp(0).put_on(&Batch::parse(&bytes).unwrap());
    assert!(!Batch::parse(&sent).unwrap().checksum_matches());
}

#[test]
fn sequence_numbers_go_on_at_zero_after_the_last() {
    assert_eq!(stamp(5).after(0), stamp(5));
    assert_eq!(stamp(i32::MAX).after(1), stamp(0));
    assert_eq!(stamp(i32::MAX - 1).after(12), stamp(10));
    assert_eq!(stamp(7).after(1 << 31), stamp(7));
    assert_eq!(stamp(7).after(u64::MAX), stamp(6));
    for (begin, records) in [(0, 0), (0, 9), (i32::MAX, 1), (i32::MAX - 4, 100)] {
        assert_eq!(stamp(begin).records_before(stamp(begin).after(records).sequence), records);
    }
}
