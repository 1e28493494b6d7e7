//! What strangers send: each gets its error or is cut off, nobody else notices, nothing is written.

mod batches;
mod corpus;
mod decoding;
mod frames;
mod fuzzing;
mod memory;
mod mutations;
mod names;
mod oversized;
