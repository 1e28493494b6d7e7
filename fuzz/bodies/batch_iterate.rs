//! Reads any bytes as batches and their records.

use streamlog::record::{Batches, Decompressor, Limits};

/// Panics when a promise is broken.
pub(crate) fn run(bytes: &[u8]) {
    let mut decompressor = Decompressor::new(Limits::for_batches_up_to(1 << 16));
    let mut batches = Batches::new(bytes);
    for batch in batches.by_ref().flatten() {
        assert!(batch.last_offset() < batch.next_offset());
        let Ok(payload) = batch.decompressed(&mut decompressor) else { continue };
        for record in batch.records(&payload, decompressor.limits()).flatten() {
            assert!(batch.offset_of(&record) <= batch.last_offset());
            let count = record.headers.len();
            assert_eq!(record.headers.count(), count);
        }
    }
    assert_eq!(batches.position() + batches.rest().len(), bytes.len());
}
