//! Dividing a batch: in halves, or without the records at fault.

use super::batch::{Packed, finished, sequence_after};
use super::shares::shares;
use crate::record::{Compressor, ProducerStamp};

impl Packed {
    /// Splits off the second half, of about equal uncompressed size, so that a single large record
    /// is isolated after few splits. Records keep their sequence numbers.
    ///
    /// Leaves the batch unchanged, and returns `None`, if it has less than two records or exceeds
    /// the limits of decompression.
    pub(crate) fn cut_half(&mut self, compressor: &mut Compressor) -> Option<Self> {
        let records = self.numbers.count();
        if records < 2 {
            return None;
        }
        let ([mut front, mut back], stamp) = shares::<2>(self, |record| {
            let is_front = record.place == 0 || record.is_in_front;
            Some(usize::from(!is_front))
        })?;
        let count = front.builder.record_count();
        assert_eq!(count + back.builder.record_count(), records, "records in both halves");
        let stamp_behind = stamp.map(|stamp| ProducerStamp {
            base_sequence: sequence_after(stamp.base_sequence, count),
            ..stamp
        });
        let size = back.builder.size();
        let behind = Self {
            size,
            bytes: finished(&mut back.builder, stamp_behind, compressor),
            numbers: self.numbers.split_off(count),
            delivery: self.delivery.clone(),
            windows: back.windows,
            opened_at: self.opened_at,
            may_be_stored: self.may_be_stored,
            reserved: self.reserved.split_off(size),
        };
        self.size = front.builder.size();
        self.bytes = finished(&mut front.builder, stamp, compressor);
        self.windows = front.windows;
        Some(behind)
    }

    /// Removes the records at `places`, which are sorted and do not cover the batch, and returns
    /// their numbers. The remaining records need new sequence numbers.
    ///
    /// Leaves the batch unchanged, and returns `None`, if it exceeds the limits of decompression.
    pub(crate) fn take_out(
        &mut self,
        places: &[u32],
        compressor: &mut Compressor,
    ) -> Option<Vec<u32>> {
        let ([mut rest], stamp) =
            shares::<1>(self, |record| places.binary_search(&record.place).is_err().then_some(0))?;
        let taken = self.numbers.take_out(places);
        assert_eq!(rest.builder.record_count(), self.numbers.count(), "records that are left");
        self.size = rest.builder.size();
        self.bytes = finished(&mut rest.builder, stamp, compressor);
        self.windows = rest.windows;
        self.reserved = self.reserved.split_off(self.size);
        Some(taken)
    }
}
