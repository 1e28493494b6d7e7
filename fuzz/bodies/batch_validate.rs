//! Judges any bytes, given a checksum that holds, as a produced batch.

use streamlog::record::{Batch, Decompressor, HeaderMut, ProduceRules, validate_produced};
use streamlog::types::Timestamp;

/// Panics when a promise is broken.
pub(crate) fn run(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if let Some((head, rest)) = bytes.split_at_mut_checked(21) {
        head[0..8].fill(0);
        head[16] = 2;
        let length = i32::try_from(rest.len() + 9).unwrap();
        head[8..12].copy_from_slice(&length.to_be_bytes());
        head[17..21].copy_from_slice(&crc32c::crc32c(rest).to_be_bytes());
    }
    let rules = ProduceRules { walk_compressed: true, ..ProduceRules::for_batches_up_to(1 << 16) };
    let Ok(checked) = validate_produced(&bytes, &rules) else { return };
    let batch = checked.batch;
    let payload = batch.decompressed(&mut Decompressor::new(rules.limits)).unwrap();
    let records = batch.records(&payload, &rules.limits);
    assert_eq!(records.map(Result::unwrap).count(), batch.record_count() as usize);

    let mut stored = bytes.clone();
    HeaderMut::of_batch(&mut stored).unwrap().set_log_append_time(Timestamp::from_millis(7));
    assert!(Batch::parse(&stored).unwrap().checksum_matches());
}
