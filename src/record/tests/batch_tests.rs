//! A batch reads back as it was built, and its header can change without its records.

use proptest::prelude::*;

use super::sample::{build, four, push_all, read, samples};
use crate::record::{
    Batch, BatchBuilder, BatchSettings, Batches, Compression, Compressor, Decompressor, Header,
    HeaderMut, Headers, Limits, ProducerStamp, RecordError, TimestampType,
};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

proptest! {
    #[test]
    fn a_batch_reads_back_as_it_was_built(samples in samples(), codec in 0_u8..5) {
        let compression = Compression::from_id(codec).unwrap();
        let bytes = build(&samples, compression);
        let batch = Batch::parse(&bytes).unwrap();
        prop_assert!(batch.checksum_matches());
        prop_assert_eq!(batch.record_count() as usize, samples.len());
        prop_assert_eq!(batch.base_offset(), Offset::ZERO);
        prop_assert_eq!(batch.next_offset().get(), i64::from(batch.record_count()));
        let latest = samples.iter().map(|sample| sample.timestamp).max().unwrap();
        prop_assert_eq!(batch.max_timestamp().millis(), latest);
        prop_assert_eq!(read(&batch, &Limits::default()).unwrap(), samples);
    }

    #[test]
    fn the_size_of_a_batch_is_computed_in_advance(samples in samples()) {
        let mut builder = BatchBuilder::new();
        for sample in &samples {
            let headers: Vec<_> = sample
                .headers
                .iter()
                .map(|(key, value)| Header { key, value: value.as_deref() })
                .collect();
            let (key, value) = (sample.key.as_deref(), sample.value.as_deref());
            let most = builder.size() + BatchBuilder::record_size_max(key, value, &headers);
            builder.push(Timestamp::from_millis(sample.timestamp), key, value, &headers).unwrap();
            prop_assert!(builder.size() <= most);
        }
        let foretold = builder.size();
        let bytes = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
        prop_assert_eq!(bytes.len(), foretold);
    }

    #[test]
    fn a_changed_header_has_the_checksum_of_its_bytes(
        samples in samples(), codec in 0_u8..5, now: i64, delta in 0..i32::MAX,
    ) {
        let mut bytes = build(&samples, Compression::from_id(codec).unwrap());
        let payload = Batch::parse(&bytes).unwrap().payload().to_vec();
        let mut header = HeaderMut::of_batch(&mut bytes).unwrap();
        header.set_log_append_time(Timestamp::from_millis(now));
        header.set_last_offset_delta(delta);
        header.set_base_offset(Offset::new(77));
        header.set_leader_epoch(LeaderEpoch(5));
        let batch = Batch::parse(&bytes).unwrap();
        prop_assert!(batch.checksum_matches());
        prop_assert_eq!(batch.payload(), payload);
        prop_assert_eq!(batch.timestamp_type(), TimestampType::LogAppendTime);
        prop_assert_eq!(batch.max_timestamp().millis(), now);
        prop_assert_eq!(batch.last_offset().get(), 77 + i64::from(delta));
        prop_assert_eq!(batch.leader_epoch(), LeaderEpoch(5));
        let read = read(&batch, &Limits::default()).unwrap();
        prop_assert!(read.iter().all(|sample| sample.timestamp == now));
        prop_assert_eq!(read.len(), samples.len());
    }
}

#[test]
fn a_damaged_batch_stays_damaged_when_its_header_changes() {
    let mut bytes = build(&four(), Compression::None);
    *bytes.last_mut().unwrap() ^= 1;
    HeaderMut::of_batch(&mut bytes).unwrap().set_log_append_time(Timestamp::from_millis(9));
    assert!(!Batch::parse(&bytes).unwrap().checksum_matches());
}

#[test]
fn a_header_can_be_changed_in_a_copy() {
    let bytes = build(&four(), Compression::None);
    let batch = Batch::parse(&bytes).unwrap();
    let mut header = *batch.header();
    HeaderMut::new(&mut header).set_max_timestamp(Timestamp::from_millis(123));
    let stored = [&header[..], batch.payload()].concat();
    let stored = Batch::parse(&stored).unwrap();
    assert!(stored.checksum_matches());
    assert_eq!(stored.max_timestamp().millis(), 123);
    assert_eq!(stored.timestamp_type(), TimestampType::CreateTime);
}

#[test]
fn a_builder_goes_on_after_a_batch_and_with_a_used_buffer() {
    let mut builder = BatchBuilder::new();
    push_all(&mut builder, &four());
    let first = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
    assert!(builder.is_empty());
    push_all(&mut builder, &four());
    assert_eq!(builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap(), first);
    let (copy, place) = (first.clone(), first.as_ptr());
    let mut builder = BatchBuilder::with_buffer(first);
    assert_eq!(builder.record_count(), 0);
    push_all(&mut builder, &four());
    let again = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
    assert_eq!(again, copy);
    assert_eq!(again.as_ptr(), place);
}

#[test]
fn records_that_do_not_shrink_are_stored_as_they_are() {
    let sample = super::sample::Sample::of(1, None, Some(b"7f"));
    for compression in Compression::ALL {
        let bytes = build(std::slice::from_ref(&sample), compression);
        let batch = Batch::parse(&bytes).unwrap();
        assert_eq!(batch.compression(), Compression::None);
        assert_eq!(bytes, build(std::slice::from_ref(&sample), Compression::None));
    }
}

#[test]
fn a_batch_keeps_the_stamp_of_its_producer_and_sequences_wrap() {
    for (base_sequence, last_sequence) in
        [(0, 3), (i32::MAX - 3, i32::MAX), (i32::MAX - 2, 0), (i32::MAX, 2)]
    {
        let stamp = ProducerStamp { id: ProducerId(9), epoch: ProducerEpoch(1), base_sequence };
        let mut builder = BatchBuilder::new();
        push_all(&mut builder, &four());
        let settings = BatchSettings { producer: Some(stamp), is_transactional: true };
        let bytes = builder.build(&settings, &mut Compressor::none()).unwrap();
        let batch = Batch::parse(&bytes).unwrap();
        assert_eq!(batch.producer(), Some(stamp));
        assert_eq!(batch.last_sequence(), Some(last_sequence));
        assert!(batch.is_transactional() && !batch.is_control());
    }
}

#[test]
fn sequences_count_records_where_offsets_count_bytes() {
    let stamp =
        ProducerStamp { id: ProducerId(9), epoch: ProducerEpoch(1), base_sequence: i32::MAX };
    let mut builder = BatchBuilder::new();
    push_all(&mut builder, &four());
    let settings = BatchSettings { producer: Some(stamp), ..BatchSettings::default() };
    let mut bytes = builder.build(&settings, &mut Compressor::none()).unwrap();
    let delta = i32::try_from(bytes.len()).unwrap() - 1;
    HeaderMut::of_batch(&mut bytes).unwrap().set_last_offset_delta(delta);
    let batch = Batch::parse(&bytes).unwrap();
    assert_eq!(batch.next_offset().get(), i64::from(delta) + 1);
    assert_eq!(batch.last_sequence(), Some(2));
    assert_eq!(read(&batch, &Limits::default()).unwrap(), four());
}

#[test]
fn batches_end_before_one_that_is_cut_off_and_say_where() {
    let one = build(&four(), Compression::None);
    let two = build(&four(), Compression::Lz4);
    let bytes = [&one[..], &two, &one].concat();
    for cut in 0..one.len() {
        let held = &bytes[..one.len() + two.len() + cut];
        let mut batches = Batches::new(held);
        let sizes: Vec<_> = batches.by_ref().map(|batch| batch.unwrap().size()).collect();
        assert_eq!(sizes, [one.len(), two.len()]);
        assert_eq!(batches.position(), one.len() + two.len());
        assert_eq!(batches.rest().len(), cut);
    }
    assert_eq!(Batches::new(&bytes).count(), 3);
}

#[test]
fn batches_stop_at_a_bad_one_and_say_where() {
    let one = build(&four(), Compression::None);
    let bytes = [&one[..], &[0; 100]].concat();
    let mut batches = Batches::new(&bytes);
    assert!(batches.next().unwrap().is_ok());
    assert!(matches!(batches.next(), Some(Err(RecordError::Magic { magic: 0 }))));
    assert!(batches.next().is_none());
    assert_eq!(batches.position(), one.len());
    assert_eq!(batches.rest().len(), 100);
}

#[test]
fn the_length_is_known_from_17_bytes_and_not_from_fewer() {
    let bytes = build(&four(), Compression::None);
    for size in 0..17 {
        assert!(matches!(Batch::peek_len(&bytes[..size]), Ok(None)));
    }
    for size in 17..bytes.len() {
        assert_eq!(Batch::peek_len(&bytes[..size]).unwrap(), Some(bytes.len()));
        let error = Batch::parse(&bytes[..size]).unwrap_err();
        assert!(matches!(error, RecordError::Size { .. }), "{error}");
    }
}

#[test]
fn iteration_suspended_after_every_record_yields_the_same_records() {
    let bytes = build(&four(), Compression::Zstd);
    let batch = Batch::parse(&bytes).unwrap();
    let payload = batch.decompressed(&mut Decompressor::default()).unwrap();
    let whole: Vec<_> = batch.records(&payload, &Limits::default()).map(Result::unwrap).collect();
    let mut at = batch.records(&payload, &Limits::default()).suspend();
    for expected in &whole {
        let mut records = at.resume(&payload);
        let record = records.next().unwrap().unwrap();
        at = records.suspend();
        assert_eq!((record.offset_delta, record.key), (expected.offset_delta, expected.key));
        let count = u32::try_from(record.headers.len()).unwrap();
        let again = Headers::of_encoded(record.headers.encoded(), count);
        assert!(again.eq(expected.headers.clone()));
    }
    assert!(at.resume(&payload).next().is_none());
}

#[test]
fn the_producer_stamp_of_a_batch_can_be_replaced() {
    let mut bytes = build(&four(), Compression::Gzip);
    let stamp = ProducerStamp { id: ProducerId(4), epoch: ProducerEpoch(2), base_sequence: 77 };
    HeaderMut::of_batch(&mut bytes).unwrap().set_producer(stamp);
    let batch = Batch::parse(&bytes).unwrap();
    assert_eq!(batch.producer(), Some(stamp));
    assert!(batch.checksum_matches());
}
