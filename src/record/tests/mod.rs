//! Proofs of the layer as a whole: what it writes it reads, and strangers' bytes do it no harm.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed, as it should"
)]

mod batch_tests;
mod compression_tests;
mod fixture_tests;
mod hostile_tests;
mod repack_tests;
mod rewriter_tests;
mod sample;
mod validate_tests;
