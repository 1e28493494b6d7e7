//! Splitting a batch in two.

use crate::client::producer::audit::Windows;
use crate::client::producer::lane::{Packed, finished, sequence_after};
use crate::record::{Batch, BatchBuilder, Compressor, Decompressor, Limits, ProducerStamp};

/// The content of a half.
#[derive(Debug, Default)]
struct Half {
    builder: BatchBuilder,
    windows: Windows,
}

impl Packed {
    /// Splits the batch into halves of about equal uncompressed size, in order, so that a single
    /// large record is isolated after few splits. Records keep their sequence numbers.
    ///
    /// Returns the batch unchanged if it has less than two records, or exceeds the limits of
    /// decompression.
    pub(crate) fn halves(mut self, compressor: &mut Compressor) -> Result<[Self; 2], Self> {
        let Some(([mut front, mut back], stamp)) = cut(&self) else { return Err(self) };
        let count = front.builder.record_count();
        assert_eq!(count + back.builder.record_count(), self.records, "records in both halves");
        let stamp_behind = stamp.map(|stamp| ProducerStamp {
            base_sequence: sequence_after(stamp.base_sequence, count),
            ..stamp
        });
        let size = back.builder.size();
        let behind = Self {
            size,
            bytes: finished(&mut back.builder, stamp_behind, compressor),
            first: self.first + count,
            records: self.records - count,
            delivery: self.delivery.clone(),
            windows: back.windows,
            opened_at: self.opened_at,
            is_in_doubt: self.is_in_doubt,
            held: self.held.split_off(size),
        };
        self.size = front.builder.size();
        self.bytes = finished(&mut front.builder, stamp, compressor);
        self.records = count;
        self.windows = front.windows;
        Ok([self, behind])
    }
}

/// The records of both halves, neither of them empty, and the producer stamp of the batch.
fn cut(whole: &Packed) -> Option<([Half; 2], Option<ProducerStamp>)> {
    let batch = Batch::parse(&whole.bytes).ok().filter(|batch| batch.record_count() > 1)?;
    let payload = batch.decompressed(&mut Decompressor::default()).ok()?;
    let mut records = batch.records(&payload, &Limits::default());
    let (mut front, mut back) = (Half::default(), Half::default());
    let mut headers = Vec::new();
    while let Some(record) = records.next() {
        let record = record.ok()?;
        let is_front = front.builder.is_empty() || records.position() <= payload.len() / 2;
        let half = if is_front { &mut front } else { &mut back };
        let time = batch.timestamp_of(&record);
        headers.clear();
        headers.extend(record.headers);
        half.builder.push(time, record.key, record.value, &headers).ok()?;
        half.windows.add_from(&whole.windows, time);
    }
    Some(([front, back], batch.producer()))
}
