//! What the fuzzer of requests begins with: every request in every version, one file each in
//! `tests/fixtures/requests`. Everything in there is read here too, so that what a fuzzer has found
//! once can be put there and stays found.
//!
//! With `STREAMLOG_WRITE_SEEDS` set, the files are written anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use streamlog::types::TopicId;
use streamlog::wire::RequestHeader;

use crate::support::golden_requests;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/requests")
}

#[test]
fn the_seeds_of_the_fuzzer_are_every_request_in_every_version() {
    let goldens = golden_requests("topic", TopicId([7; 16]));
    let path = |text: &str| folder().join(text.replace(" version ", "-"));
    let wanted: BTreeMap<_, _> =
        goldens.iter().map(|golden| (path(&golden.name), golden.body.to_vec())).collect();
    if std::env::var_os("STREAMLOG_WRITE_SEEDS").is_some() {
        fs::create_dir_all(folder()).unwrap();
        for (path, body) in &wanted {
            fs::write(path, body).unwrap();
        }
    }
    for (path, body) in &wanted {
        let seed = fs::read(path).unwrap_or_default();
        let name = path.display();
        assert_eq!(&seed, body, "{name}: STREAMLOG_WRITE_SEEDS=1 writes the seeds anew");
    }
}

#[test]
fn every_seed_is_read_or_refused() {
    let goldens = golden_requests("topic", TopicId([7; 16]));
    let mut seeds = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let seed = fs::read(entry.unwrap().path()).unwrap();
        seeds += 1;
        let Ok((header, reader)) = RequestHeader::decode(&seed) else { continue };
        let known = goldens.iter().find(|golden| golden.api == header.api_key);
        // Whether it can be read does not matter; that it ends does.
        let _ = known.map(|golden| (golden.decode)(&header, reader));
    }
    assert!(seeds >= goldens.len(), "{seeds} seeds");
}
