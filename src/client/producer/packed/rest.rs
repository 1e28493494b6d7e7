//! Removing the records at fault from a batch.

use super::batch::{Packed, finished};
use super::shares::shares;
use crate::record::Compressor;

impl Packed {
    /// Removes the records in these places, given in order and not all of them, and returns their
    /// numbers. The others have to be numbered again, from the start of a new sequence.
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
