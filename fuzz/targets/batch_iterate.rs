//! Reads any bytes as batches and their records.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../bodies/batch_iterate.rs"]
mod body;

fuzz_target!(|bytes: &[u8]| body::run(bytes));
