//! Hostile input: each peer gets an error or is disconnected, and nothing is written.

mod batches;
mod corpus;
mod decoding;
mod frames;
mod fuzzing;
mod memory;
mod mutations;
mod names;
mod oversized;
mod pipelining;
