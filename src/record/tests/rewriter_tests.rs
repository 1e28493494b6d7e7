//! A rewritten batch differs from the original only by the removed records.

use proptest::prelude::*;

use super::sample::{Sample, build, four, read, samples};
use crate::record::{
    Batch, BatchRewriter, Compression, Compressor, Decompressor, HeaderMut, Limits,
};
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// The batch with the records that are marked in `stays`.
fn rewritten(bytes: &[u8], stays: &[bool], horizon: Option<i64>) -> Vec<u8> {
    let batch = Batch::parse(bytes).unwrap();
    let limits = Limits::default();
    let payload = batch.decompressed(&mut Decompressor::new(limits)).unwrap();
    let mut rewriter = BatchRewriter::new(batch, horizon.map(Timestamp::from_millis));
    let mut records = batch.records(&payload, &limits);
    for stays in stays {
        let start = records.position();
        let record = records.next().unwrap().unwrap();
        if *stays {
            rewriter.keep(&record, &payload[start..records.position()]).unwrap();
        }
    }
    rewriter.finish(&mut Compressor::new(batch.compression(), None).unwrap()).unwrap()
}

/// A batch in the middle of a log.
fn stored(samples: &[Sample], codec: Compression) -> Vec<u8> {
    let mut bytes = build(samples, codec);
    let mut header = HeaderMut::of_batch(&mut bytes).unwrap();
    header.set_base_offset(Offset::new(1_000));
    header.set_leader_epoch(LeaderEpoch(4));
    bytes
}

/// The offsets of the records.
fn offsets(bytes: &[u8]) -> Vec<i64> {
    let batch = Batch::parse(bytes).unwrap();
    let limits = Limits::default();
    let payload = batch.decompressed(&mut Decompressor::new(limits)).unwrap();
    let records = batch.records(&payload, &limits);
    records.map(|record| batch.offset_of(&record.unwrap()).get()).collect()
}

proptest! {
    #[test]
    fn kept_records_are_unchanged(
        samples in samples(), choice: u32, codec in 0..5_u8, horizon: Option<i64>,
    ) {
        let codec = Compression::from_id(codec).unwrap();
        let before = stored(&samples, codec);
        let stays = (0..samples.len()).map(|index| choice >> (index % 32) & 1 == 1);
        let stays: Vec<_> = stays.collect();
        let after = rewritten(&before, &stays, horizon);
        let (old, new) = (Batch::parse(&before).unwrap(), Batch::parse(&after).unwrap());
        prop_assert!(new.checksum_matches());
        let place = |batch: &Batch<'_>| (batch.base_offset(), batch.last_offset());
        prop_assert_eq!(place(&new), place(&old));
        prop_assert_eq!(new.leader_epoch(), old.leader_epoch());
        let kept = (1_000..).zip(samples).zip(&stays).filter(|(_, stays)| **stays);
        let (places, kept): (Vec<i64>, Vec<Sample>) = kept.map(|(sample, _)| sample).unzip();
        prop_assert_eq!(read(&new, &Limits::default()).unwrap(), kept.clone());
        prop_assert_eq!(offsets(&after), places);
        prop_assert_eq!(new.record_count() as usize, kept.len());
        let latest = kept.iter().map(|sample| Timestamp::from_millis(sample.timestamp)).max();
        prop_assert_eq!(new.max_timestamp(), latest.unwrap_or(old.max_timestamp()));
        prop_assert_eq!(new.has_delete_horizon(), horizon.is_some() && !kept.is_empty());
    }
}

#[test]
fn an_emptied_batch_consists_of_its_header() {
    for codec in Compression::ALL {
        let bytes = rewritten(&stored(&four(), codec), &[false; 4], Some(77));
        let batch = Batch::parse(&bytes).unwrap();
        assert_eq!((bytes.len(), batch.record_count()), (61, 0));
        assert_eq!(batch.compression(), Compression::None);
        assert_eq!(batch.base_timestamp(), Timestamp::NONE);
        assert_eq!(batch.max_timestamp(), Timestamp::from_millis(301_000));
        assert_eq!(batch.next_offset(), Offset::new(1_004));
        assert!(!batch.has_delete_horizon());
    }
}

#[test]
fn a_delete_horizon_is_the_base_timestamp_and_survives_another_rewrite() {
    let once = rewritten(&stored(&four(), Compression::None), &[true; 4], Some(5_000_000));
    let again = rewritten(&once, &[false, true, true, false], None);
    let batch = Batch::parse(&again).unwrap();
    assert!(batch.has_delete_horizon());
    assert_eq!(batch.base_timestamp(), Timestamp::from_millis(5_000_000));
    let times: Vec<_> = read(&batch, &Limits::default()).unwrap();
    assert_eq!(times.iter().map(|sample| sample.timestamp).collect::<Vec<_>>(), [1_005, 997]);
}
