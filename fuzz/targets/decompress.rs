//! Unpacks any bytes by any codec.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../bodies/decompress.rs"]
mod body;

fuzz_target!(|bytes: &[u8]| body::run(bytes));
