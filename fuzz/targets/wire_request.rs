//! Reads any bytes as a frame with a request in it.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../bodies/wire_request.rs"]
mod body;

fuzz_target!(|bytes: &[u8]| body::run(bytes));
