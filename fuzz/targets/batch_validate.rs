//! Judges any bytes, given a checksum that holds, as a produced batch.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../bodies/batch_validate.rs"]
mod body;

fuzz_target!(|bytes: &[u8]| body::run(bytes));
