//! LZ4: one frame of independent blocks of at most 64 KB, without checksums, which is the form that
//! every Kafka client reads. Any standard frame is read.

use std::io::{self, Read, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::decompressor::read_up_to;
use super::fault::Fault;

/// How a frame starts. The legacy frame, whose blocks are of 8 MB, starts otherwise.
const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// What follows the last block of a frame.
const END_MARK: [u8; 4] = [0; 4];

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
    // The decoder takes the end of its input for the end of the frame. Given more than there is, it
    // shows whether it would have needed that.
    let mut decoder = FrameDecoder::new(input.chain(&END_MARK[..]));
    let out = read_up_to(&mut decoder, input.len(), max)?;
    match decoder.get_ref().get_ref() {
        (rest, _) if !rest.is_empty() => Err(Fault::damaged("bytes follow the LZ4 frame")),
        (_, end_mark) if end_mark.len() < END_MARK.len() => {
            Err(Fault::damaged("the LZ4 frame has no end"))
        }
        _ => Ok(out),
    }
}
