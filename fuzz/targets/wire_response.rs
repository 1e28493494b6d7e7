//! Reads any bytes as a broker's answer: the first two bytes say which.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../bodies/wire_response.rs"]
mod body;

fuzz_target!(|bytes: &[u8]| body::run(bytes));
