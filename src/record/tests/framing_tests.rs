//! Framings that some clients cannot read are refused, and named.

use std::io::Write;

use lz4_flex::frame::{BlockMode, FrameEncoder, FrameInfo};

use super::sample::{build, four};
use crate::record::{
    Compression, Compressor, FramingFault, Packing, ProduceRules, RecordError, validate_produced,
};

const HEADER: usize = 61;

fn strict() -> ProduceRules {
    ProduceRules { walk_compressed: true, ..ProduceRules::for_batches_up_to(1 << 20) }
}

/// The encoded records of a batch.
fn records() -> Vec<u8> {
    build(&four(), Compression::None).split_off(HEADER)
}

/// A batch of the same records with its stream replaced.
fn batch_of(compression: Compression, stream: &[u8]) -> Vec<u8> {
    let mut bytes = build(&four(), compression);
    bytes.truncate(HEADER);
    bytes.extend_from_slice(stream);
    let length = i32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes[22] = compression.id();
    let checksum = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

fn packed(compression: Compression, input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Compressor::new(compression, None).unwrap().compress(input, &mut out).unwrap();
    out
}

#[track_caller]
fn assert_refused(compression: Compression, stream: &[u8], expected: FramingFault) {
    match validate_produced(&batch_of(compression, stream), &strict()) {
        Err(RecordError::Framing { fault, .. }) => assert_eq!(fault, expected),
        other => panic!("{other:?}"),
    }
}

fn lz4(mode: BlockMode) -> Vec<u8> {
    let mut encoder = FrameEncoder::with_frame_info(FrameInfo::new().block_mode(mode), Vec::new());
    encoder.write_all(&records()).unwrap();
    encoder.finish().unwrap()
}

fn zstd_with_window(window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(window_log).unwrap();
    encoder.write_all(&records()).unwrap();
    encoder.flush().unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_has_one_member() {
    let (first, second) = (&records()[..20], &records()[20..]);
    let members = [first, second].map(|part| packed(Compression::Gzip, part));
    let empty = packed(Compression::Gzip, b"");
    let whole = packed(Compression::Gzip, &records());
    for stream in [
        members.concat(),
        [empty.clone(), whole.clone()].concat(),
        [whole.clone(), empty].concat(),
        [whole, b"more".to_vec()].concat(),
    ] {
        assert_refused(Compression::Gzip, &stream, FramingFault::Members);
    }
}

#[test]
fn lz4_has_independent_blocks() {
    assert_refused(Compression::Lz4, &lz4(BlockMode::Linked), FramingFault::LinkedBlocks);
    let batch = batch_of(Compression::Lz4, &lz4(BlockMode::Independent));
    validate_produced(&batch, &strict()).unwrap();
}

#[test]
fn zstd_has_one_frame_with_data() {
    let (first, second) = (&records()[..20], &records()[20..]);
    let frames = [first, second].map(|part| packed(Compression::Zstd, part));
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let whole = packed(Compression::Zstd, &records());
    for stream in [
        frames.concat(),
        [&skippable, &whole[..]].concat(),
        [&whole[..], &skippable].concat(),
        skippable.to_vec(),
    ] {
        assert_refused(Compression::Zstd, &stream, FramingFault::Frames);
    }
}

#[test]
fn a_zstd_window_has_at_most_128_mebibytes() {
    for window_log in [23, 24, 27] {
        let batch = batch_of(Compression::Zstd, &zstd_with_window(window_log));
        validate_produced(&batch, &strict()).unwrap();
    }
    let (window, max) = (1 << 28, 1 << 27);
    let fault = FramingFault::Window { window, max };
    assert_refused(Compression::Zstd, &zstd_with_window(28), fault);
}

#[test]
fn a_topic_with_a_codec_of_its_own_takes_any_framing_of_another() {
    let packing = Some(Packing { compression: Compression::Zstd, level: None });
    let rules = ProduceRules { packing, ..strict() };
    let batch = batch_of(Compression::Lz4, &lz4(BlockMode::Linked));
    let (_, repacked) = validate_produced(&batch, &rules).unwrap().repack.unwrap();
    assert_eq!(repacked, records());
}
