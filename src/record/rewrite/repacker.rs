//! Packing a batch's records by another codec than the one they came in.
//!
//! Everything a batch says of its records stays: times, offsets, producer, sequence. Only codec,
//! length and checksum become others. The records themselves are not looked at; who repacks has
//! walked them.

use crate::record::batch::Batch;
use crate::record::checksum;
use crate::record::codec::{Compression, Packing};
use crate::record::compression::Compressor;
use crate::record::error::RecordError;
use crate::record::header::{self, HEADER_SIZE, UNCOUNTED_SIZE, set_field};

/// Repacks batch after batch, and keeps the codec as long as they all want the same.
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
    /// The batch with its `records`, which were unpacked, packed as `packing` says; at most
    /// `size_max` bytes in all.
    ///
    /// # Errors
    /// `TooLarge` when it would have more, `Compression` when the codec has no such level.
    pub fn repack(
        &mut self,
        batch: &Batch<'_>,
        records: &[u8],
        (packing, size_max): (Packing, usize),
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
