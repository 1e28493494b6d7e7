//! Tests that every codec restores its input, and that none exceeds its limit.

use std::borrow::Cow;
use std::io::Write;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::record::{Compression, Compressor, Decompressor, InvalidLevel, Limits, RecordError};

fn packed(compression: Compression, level: Option<i32>, input: &[u8]) -> Vec<u8> {
    let mut out = b"kept".to_vec();
    Compressor::new(compression, level).unwrap().compress(input, &mut out).unwrap();
    assert!(out.starts_with(b"kept"));
    out.split_off(4)
}

fn unpacked(
    compression: Compression,
    stream: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, RecordError> {
    Decompressor::new(*limits).decompress(compression, stream).map(Cow::into_owned)
}

/// A Zstandard stream without the size of its content, so that its window is as large as it says.
fn with_window(window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(window_log).unwrap();
    encoder.write_all(&[1; 100]).unwrap();
    encoder.flush().unwrap();
    encoder.write_all(&[2; 100]).unwrap();
    encoder.finish().unwrap()
}

fn is_inflated(result: &Result<Vec<u8>, RecordError>) -> bool {
    matches!(result, Err(RecordError::Inflated { .. }))
}

proptest! {
    #[test]
    fn a_codec_gives_back_what_it_was_given(
        block in vec(any::<u8>(), 0..300), repeats in 0_usize..500, codec in 0_u8..5,
    ) {
        let compression = Compression::from_id(codec).unwrap();
        let input = block.repeat(repeats);
        let stream = packed(compression, None, &input);
        let output = unpacked(compression, &stream, &Limits::default()).unwrap();
        prop_assert_eq!(&output[..], &input[..]);
    }

    #[test]
    fn no_stream_panics_or_passes_its_cap(
        mut stream in vec(any::<u8>(), 0..200), codec in 1_u8..5, form in 0_usize..3,
        cap in 0_usize..4096,
    ) {
        let compression = Compression::from_id(codec).unwrap();
        let honest = packed(compression, None, &[7; 1000]);
        // Sometimes start with the magic number, to get beyond the first check.
        let start = honest.len().min([0, 4, 16][form]);
        stream.splice(..0, honest[..start].iter().copied());
        let limits = Limits { decompressed_bytes_max: cap, ..Limits::default() };
        if let Ok(output) = unpacked(compression, &stream, &limits) {
            prop_assert!(output.len() <= cap);
        }
    }

    #[test]
    fn a_stream_with_one_wrong_byte_neither_panics_nor_exceeds_its_limit(
        codec in 1_u8..5, place: prop::sample::Index, wrong: u8,
    ) {
        let compression = Compression::from_id(codec).unwrap();
        let input: Vec<u8> = (0..5_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let mut stream = packed(compression, None, &input);
        let place = place.index(stream.len());
        stream[place] = wrong;
        if let Ok(output) = unpacked(compression, &stream, &Limits::default()) {
            prop_assert!(output.len() <= 1 << 20);
        }
    }
}

#[test]
fn a_stream_that_is_cut_off_is_refused_but_for_snappy_between_two_blocks() {
    let input: Vec<u8> = (0..60_000_u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
    for compression in &Compression::ALL[1..] {
        let stream = packed(*compression, None, &input);
        let last = stream.len() - 12..stream.len();
        for size in (1..stream.len()).step_by(97).chain(last) {
            match unpacked(*compression, &stream[..size], &Limits::default()) {
                Ok(output) => {
                    // Snappy's framing has no end mark, so a cut between two blocks goes unnoticed.
                    assert_eq!(*compression, Compression::Snappy, "{size} bytes");
                    assert!(output.len() < input.len() && input.starts_with(&output));
                }
                Err(error) => assert!(matches!(error, RecordError::Compression { .. }), "{error}"),
            }
        }
    }
}

#[test]
fn bombs_stay_within_the_cap() {
    let zeros = vec![0; 40 << 20];
    for compression in &Compression::ALL[1..] {
        let bomb = packed(*compression, None, &zeros);
        let small = Limits::for_batches_up_to(1 << 20);
        assert!(is_inflated(&unpacked(*compression, &bomb, &small)), "{compression}");
        // Within the absolute cap, the ratio decides: gzip reaches 1,000 : 1, zstd 30,000 : 1.
        let result = unpacked(*compression, &bomb, &Limits::default());
        let within = bomb.len() * 1_000 >= zeros.len();
        assert_eq!(result.is_ok(), within, "{compression} {}", bomb.len());
        assert_eq!(is_inflated(&result), !within, "{compression}");
    }
}

#[test]
fn any_ratio_is_allowed_up_to_a_megabyte() {
    let zeros = vec![0; 1 << 20];
    for compression in &Compression::ALL[1..] {
        let stream = packed(*compression, None, &zeros);
        assert_eq!(unpacked(*compression, &stream, &Limits::default()).unwrap(), zeros);
    }
}

#[test]
fn a_snappy_block_cannot_claim_more_than_its_size_allows() {
    // The block claims to decompress to 4 GB − 1, and has one byte.
    let bare = [0xff, 0xff, 0xff, 0xff, 0x0f, 0x00];
    let error = unpacked(Compression::Snappy, &bare, &Limits::default()).unwrap_err();
    assert!(matches!(error, RecordError::Compression { .. }), "{error}");
}

#[test]
fn a_stream_is_unpacked_the_same_after_a_damaged_one() {
    let input: Vec<u8> = (0..60_000_u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
    let mut decompressor = Decompressor::default();
    for compression in Compression::ALL.into_iter().skip(1).cycle().take(12) {
        let mut compressor = Compressor::new(compression, None).unwrap();
        let mut stream = Vec::new();
        compressor.compress(&input, &mut stream).unwrap();
        let half = stream.len() / 2;
        let whole =
            decompressor.decompress(compression, &stream[..half]).is_ok_and(|o| *o == input);
        assert!(!whole, "{compression}");
        assert_eq!(decompressor.decompress(compression, &stream).unwrap(), input);
        let mut again = Vec::new();
        compressor.compress(&input, &mut again).unwrap();
        assert_eq!(again, stream, "{compression}");
    }
}

#[test]
fn bare_snappy_is_read() {
    let input = b"to be or not to be, to be or not to be".repeat(10);
    let bare = snap::raw::Encoder::new().compress_vec(&input).unwrap();
    assert_eq!(unpacked(Compression::Snappy, &bare, &Limits::default()).unwrap(), input);
}

#[test]
fn snappy_is_written_in_blocks_with_the_framing_of_the_java_library() {
    let stream = packed(Compression::Snappy, None, &vec![b'a'; 70_000]);
    assert!(stream.starts_with(b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"));
    let (mut rest, mut sizes) = (&stream[16..], Vec::new());
    while let Some((length, after)) = rest.split_first_chunk() {
        let (block, after) = after.split_at(u32::from_be_bytes(*length) as usize);
        sizes.push(snap::raw::decompress_len(block).unwrap());
        rest = after;
    }
    assert_eq!(sizes, [32_768, 32_768, 4_464]);
}

#[test]
fn lz4_is_written_in_the_form_that_java_clients_read() {
    // Version 1, independent blocks, no checksums, no size; blocks of at most 64 KB.
    let stream = packed(Compression::Lz4, None, &vec![b'a'; 70_000]);
    assert_eq!(stream[4] & 0b1111_1101, 0b0110_0000);
    assert_eq!(stream[5], 0b0100_0000);
}

#[test]
fn lz4_is_read_with_linked_blocks_and_checksums() {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

    let input: Vec<u8> = (0..90_000_u32).flat_map(|n| (n / 5).to_le_bytes()).collect();
    let form = FrameInfo::new()
        .block_mode(BlockMode::Linked)
        .block_size(BlockSize::Max256KB)
        .block_checksums(true)
        .content_checksum(true)
        .content_size(Some(input.len() as u64));
    let mut encoder = FrameEncoder::with_frame_info(form, Vec::new());
    encoder.write_all(&input).unwrap();
    let stream = encoder.finish().unwrap();
    assert_eq!(unpacked(Compression::Lz4, &stream, &Limits::default()).unwrap(), input);
}

#[test]
fn bytes_after_the_stream_are_refused() {
    for compression in &Compression::ALL[1..] {
        let mut stream = packed(*compression, None, b"some records");
        stream.extend_from_slice(b"more");
        let error = unpacked(*compression, &stream, &Limits::default()).unwrap_err();
        assert!(matches!(error, RecordError::Compression { .. }), "{compression}: {error}");
    }
}

#[test]
fn a_zstd_window_takes_no_memory_and_may_be_of_any_size() {
    for window_log in [24, 27, 30] {
        let stream = with_window(window_log);
        let output = unpacked(Compression::Zstd, &stream, &Limits::default()).unwrap();
        assert_eq!(output, [[1; 100], [2; 100]].concat(), "{window_log}");
    }
}

#[test]
fn streams_of_several_parts_are_read_as_one() {
    let parts: [&[u8]; 3] = [b"", b"some records", b"more of them"];
    for compression in [Compression::Gzip, Compression::Zstd] {
        let stream: Vec<u8> =
            parts.iter().flat_map(|part| packed(compression, None, part)).collect();
        let output = unpacked(compression, &stream, &Limits::default()).unwrap();
        assert_eq!(output, parts.concat(), "{compression}");
        let small = Limits { decompressed_bytes_max: output.len() - 1, ..Limits::default() };
        assert!(is_inflated(&unpacked(compression, &stream, &small)), "{compression}");
    }
}

#[test]
fn every_level_of_a_codec_writes_what_is_read_and_others_are_refused() {
    let input = b"a record, a record, a record".repeat(100);
    let levels = [
        (Compression::Gzip, -1..10, 10),
        (Compression::Lz4, 1..18, 18),
        (Compression::Zstd, -5..23, 23),
    ];
    for (compression, known, unknown) in levels {
        for level in known.filter(|level| *level != 0) {
            let stream = packed(compression, Some(level), &input);
            assert_eq!(unpacked(compression, &stream, &Limits::default()).unwrap(), input);
        }
        let error = Compressor::new(compression, Some(unknown)).unwrap_err();
        assert_eq!(error, InvalidLevel { compression, level: unknown });
    }
}

#[test]
fn the_names_of_codecs_are_those_of_settings() {
    for compression in Compression::ALL {
        assert_eq!(compression.to_string().parse(), Ok(compression));
        assert_eq!(Compression::from_id(compression.id()), Some(compression));
    }
    assert!("brotli".parse::<Compression>().is_err());
    assert_eq!(Compression::from_id(5), None);
}
