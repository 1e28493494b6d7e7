//! Tests of the whole layer: round trips, and robustness against untrusted bytes.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed, as it should"
)]

mod batch_tests;
mod compression_tests;
mod fixture_tests;
mod framing_tests;
mod hostile_tests;
mod repack_tests;
mod rewriter_tests;
mod sample;
mod validate_tests;
