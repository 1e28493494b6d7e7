//! Any bytes, for every decoder that strangers reach, on the stable compiler.
//!
//! Inputs are mutations of a committed corpus, each made from a seed alone. In the ordinary tests
//! there are some thousands; `make fuzz` goes on for a time. A panic prints the seed and the input
//! as hex; `STREAMLOG_SEED=n` runs that one again.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use streamlog::types::TopicId;

use crate::support::{Random, golden_requests, seeds};

#[path = "../../../fuzz/bodies/mod.rs"]
mod bodies;

/// Inputs for each decoder when nothing else is asked for.
const INPUTS: u64 = 5_000;

/// The largest input; a larger one finds nothing that this does not.
const SIZE_MAX: usize = 1 << 12;

/// Numbers that lengths and counts are not expected to be.
const ODD: [i64; 10] = [0, -1, 1, 0x7f, 0x80, 0xff, 0x7fff, -0x8000_0000, 0x7fff_ffff, i64::MIN];

#[test]
fn no_bytes_panic_the_walk_over_batches() {
    hold_against(&fixtures(), bodies::batch_iterate::run);
}

#[test]
fn no_bytes_panic_the_judge_of_produced_batches() {
    hold_against(&fixtures(), bodies::batch_validate::run);
}

#[test]
fn no_bytes_panic_a_decompressor_or_exceed_its_limit() {
    // The codec's number, and the stream behind the batch's header.
    let streams = fixtures().into_iter().map(|batch| [&batch[22..23], &batch[61..]].concat());
    hold_against(&streams.collect::<Vec<_>>(), bodies::decompress::run);
}

#[test]
fn no_bytes_panic_the_reading_of_requests() {
    let goldens = golden_requests("topic", TopicId([7; 16]));
    let frames: Vec<_> = goldens.iter().map(|golden| golden.body.to_vec()).collect();
    hold_against(&frames, bodies::wire_request::run);
}

#[test]
fn no_bytes_panic_the_reading_of_answers() {
    hold_against(&bodies::wire_response::shortest(), bodies::wire_response::run);
}

/// Batches made by other clients.
fn fixtures() -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/batches");
    let files = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|e| e == "hex")).collect();
    // The order of a directory differs from machine to machine, and a seed must not.
    files.sort();
    assert!(files.len() >= 10, "the corpus has only {} files", files.len());
    files.iter().map(|path| bytes_of(&std::fs::read_to_string(path).unwrap())).collect()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

/// Runs `body` on each of the corpus and on mutations of it.
fn hold_against(corpus: &[Vec<u8>], body: fn(&[u8])) {
    assert!(!corpus.is_empty());
    for input in corpus {
        run(body, input, "unchanged");
    }
    let time = std::env::var("STREAMLOG_FUZZ_SECONDS").ok();
    let Some(time) = time.map(|seconds| Duration::from_secs(seconds.parse().unwrap())) else {
        for seed in seeds(INPUTS) {
            run(body, &mutated(corpus, seed), &format!("STREAMLOG_SEED={seed}"));
        }
        return;
    };
    let end = Instant::now() + time;
    // Other inputs in every run; a failing one is named by its seed all the same.
    let first = u64::from(std::process::id()) << 32;
    for seed in first.. {
        if Instant::now() >= end {
            eprintln!("{} inputs", seed - first);
            return;
        }
        run(body, &mutated(corpus, seed), &format!("STREAMLOG_SEED={seed}"));
    }
}

fn run(body: fn(&[u8]), input: &[u8], name: &str) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(input))) {
        let mut hex = String::new();
        for byte in input {
            write!(hex, "{byte:02x}").unwrap();
        }
        eprintln!("{name} failed with the input\n{hex}");
        resume_unwind(panic);
    }
}

/// One of the corpus, changed in a few places: what is made of a seed is always the same.
fn mutated(corpus: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut input = corpus[index(&mut random, corpus.len())].clone();
    for _ in 0..=random.below(5) {
        mutate(&mut input, corpus, &mut random);
    }
    input.truncate(SIZE_MAX);
    input
}

fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = index(random, input.len() + 1);
    let length = index(random, 16);
    let end = (at + length).min(input.len());
    match random.below(7) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = random.below(256).to_le_bytes()[0],
        2 => {
            let odd = ODD[index(random, ODD.len())].to_be_bytes();
            let width = [1, 2, 4, 8][index(random, 4)];
            let bytes = odd[8 - width..].iter().zip(&mut input[at..]);
            bytes.for_each(|(from, to)| *to = *from);
        }
        3 => input.truncate(at),
        4 => drop(input.drain(at..end)),
        5 => {
            let copy = input[at..end].to_vec();
            input.splice(at..at, copy);
        }
        _ => {
            let other = &corpus[index(random, corpus.len())];
            input.truncate(at);
            input.extend_from_slice(&other[index(random, other.len() + 1)..]);
        }
    }
}

fn index(random: &mut Random, length: usize) -> usize {
    usize::try_from(random.below(length.max(1) as u64)).unwrap()
}
