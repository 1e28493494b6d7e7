//! Recompressing a batch's records with another codec.
//!
//! The header keeps its contents (timestamps, offsets, producer, sequence) except for codec, length
//! and checksum. The records themselves are not examined: the caller has validated them.

use crate::record::batch::Batch;
use crate::record::checksum;
use crate::record::codec::{Compression, Packing};
use crate::record::compression::Compressor;
use crate::record::error::RecordError;
use crate::record::header::{self, HEADER_SIZE, UNCOUNTED_SIZE, set_field};

/// Recompresses batches, and keeps the compressor while the packing stays the same.
#[derive(Debug)]
pub struct Repacker {
    packing: Packing,
    compressor: Compressor,
}

impl Default for Repacker {
    fn default() -> Self {
        let packing = Packing { compression: Compression::None, level: None };
        Self { packing, compressor: Compressor::none() }
    }
}

impl Repacker {
    /// Compresses `records`, the decompressed records of `batch`, according to `packing`, into a
    /// batch of at most `size_max` bytes.
    ///
    /// # Errors
    /// `TooLarge` if the result exceeds `size_max`, `Compression` if the codec lacks the level or
    /// fails.
    pub fn repack(
        &mut self,
        batch: &Batch<'_>,
        records: &[u8],
        packing: Packing,
        size_max: usize,
    ) -> Result<Vec<u8>, RecordError> {
        self.be(packing)?;
        let mut repacked = batch.header().to_vec();
        self.compressor.compress(records, &mut repacked)?;
        let size = repacked.len();
        let length = i32::try_from(size.saturating_sub(UNCOUNTED_SIZE));
        let (Ok(length), true) = (length, size <= size_max) else {
            return Err(RecordError::TooLarge { size, max: size_max });
        };
        let codec = i16::from(packing.compression.id());
        let attributes = (batch.attributes() & !header::CODEC_BITS) | codec;
        write(&mut repacked, |header| {
            set_field::<{ header::LENGTH }, 4>(header, length.to_be_bytes());
            set_field::<{ header::ATTRIBUTES }, 2>(header, attributes.to_be_bytes());
        });
        let checksum = checksum::of_batch(&repacked);
        write(&mut repacked, |header| {
            set_field::<{ header::CRC }, 4>(header, checksum.to_be_bytes());
        });
        Ok(repacked)
    }

    fn be(&mut self, packing: Packing) -> Result<(), RecordError> {
        if self.packing != packing {
            let Packing { compression, level } = packing;
            self.compressor = Compressor::new(compression, level).map_err(|error| {
                RecordError::Compression { compression, source: std::io::Error::other(error) }
            })?;
            self.packing = packing;
        }
        Ok(())
    }
}

fn write(batch: &mut [u8], change: impl FnOnce(&mut [u8; HEADER_SIZE])) {
    if let Some(header) = batch.first_chunk_mut() {
        change(header);
    }
}
