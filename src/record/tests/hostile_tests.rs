//! Tests that no input panics, and that no damage goes unnoticed.

use proptest::collection::vec;
use proptest::prelude::*;

use super::sample::{build, four, read, samples};
use crate::record::{
    Batch, Batches, Compression, Decompressor, Header, Limits, ProduceRules, RecordError,
    validate_produced,
};

fn strict() -> ProduceRules {
    ProduceRules { walk_compressed: true, ..ProduceRules::for_batches_up_to(1 << 16) }
}

/// Does everything that a reader may do with untrusted bytes.
fn read_everything(bytes: &[u8]) {
    let limits = Limits::for_batches_up_to(1 << 16);
    let mut decompressor = Decompressor::new(limits);
    let mut batches = Batches::new(bytes);
    for batch in batches.by_ref().flatten() {
        assert!(batch.base_offset() <= batch.last_offset());
        assert!(batch.last_offset() < batch.next_offset());
        let _ = (batch.checksum_matches(), batch.producer(), batch.last_sequence());
        let Ok(payload) = batch.decompressed(&mut decompressor) else { continue };
        for record in batch.records(&payload, &limits).flatten() {
            assert!(batch.offset_of(&record) <= batch.last_offset());
            let _ = batch.timestamp_of(&record);
            let count = record.headers.len();
            assert_eq!(record.headers.collect::<Vec<Header<'_>>>().len(), count);
        }
    }
    assert_eq!(batches.position() + batches.rest().len(), bytes.len());
    if let Ok(checked) = validate_produced(bytes, &strict()) {
        let records = read(&checked.batch, &limits).unwrap();
        assert_eq!(records.len(), checked.batch.record_count() as usize);
        assert!(checked.batch.checksum_matches());
    }
}

/// Gives damaged bytes a valid checksum, so that the code behind the check is reached.
fn seal(bytes: &mut [u8]) {
    if bytes.len() >= 21 {
        let checksum = crc32c::crc32c(&bytes[21..]);
        bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        read_everything(&bytes);
    }

    #[test]
    fn arbitrary_records_behind_a_valid_header_never_panic(
        payload in vec(any::<u8>(), 0..200), codec in 0_u8..5, count in -1..40_i32,
    ) {
        let mut bytes = build(&four(), Compression::None);
        bytes.truncate(61);
        bytes.extend_from_slice(&payload);
        let length = i32::try_from(bytes.len() - 12).unwrap();
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        bytes[22] = codec;
        bytes[23..27].copy_from_slice(&(count - 1).to_be_bytes());
        bytes[57..61].copy_from_slice(&count.to_be_bytes());
        seal(&mut bytes);
        read_everything(&bytes);
    }

    #[test]
    fn a_batch_with_wrong_bytes_never_panics(
        samples in samples(), codec in 0_u8..5,
        wrong in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), sealed: bool,
    ) {
        let mut bytes = build(&samples, Compression::from_id(codec).unwrap());
        for (place, byte) in wrong {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if sealed {
            seal(&mut bytes);
        }
        read_everything(&bytes);
    }
}

#[test]
fn every_flipped_bit_that_the_checksum_covers_is_found() {
    for compression in Compression::ALL {
        let mut bytes = build(&four(), compression);
        for bit in 17 * 8..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let checked = Batch::parse(&bytes).and_then(|batch| batch.check_checksum());
            assert!(
                matches!(checked, Err(RecordError::Checksum { .. })),
                "{compression}: bit {bit}: {checked:?}"
            );
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(Batch::parse(&bytes).unwrap().checksum_matches());
    }
}

#[test]
fn records_that_do_not_fill_their_batch_exactly_are_refused() {
    let honest = build(&four(), Compression::None);
    for count in [1_i32, 3, 5, 1_000_000, i32::MAX] {
        let mut bytes = honest.clone();
        bytes[57..61].copy_from_slice(&count.to_be_bytes());
        seal(&mut bytes);
        let batch = Batch::parse(&bytes).unwrap();
        let error = read(&batch, &Limits::default()).unwrap_err();
        assert_eq!(error.record_index(), Some(count.unsigned_abs().min(4)), "{error}");
    }
}
