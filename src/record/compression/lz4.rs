//! LZ4: one frame of independent blocks of at most 64 KB, without checksums, which is the form that
//! every Kafka client reads. Any standard frame is read.

use std::io::{self, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::decompressor::read_up_to;
use super::fault::Fault;

/// How a frame starts. The legacy frame, whose blocks are of 8 MB, starts otherwise.
const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let form = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(form, out);
    encoder.write_all(input)?;
    encoder.finish()?;
    Ok(())
}

pub(super) fn decompress(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    if !input.starts_with(&MAGIC) {
        return Err(Fault::damaged("it does not start as an LZ4 frame"));
    }
    let mut decoder = FrameDecoder::new(input);
    let out = read_up_to(&mut decoder, input.len(), max)?;
    if decoder.get_ref().is_empty() {
        Ok(out)
    } else {
        Err(Fault::damaged("bytes follow the LZ4 frame"))
    }
}
