//! Splitting batches that the broker refuses: for their size, or for some of their records.
//!
//! The broker does not advance the sequence for a refused batch. The halves of a batch that is too
//! large are therefore sent in its place, with the sequence numbers that their records already
//! have. A half that is refused is split again. Only a record that is refused alone is given up. If
//! the broker names records at fault, these are given up, and the others are sent again as one
//! batch. The batch is settled once all its parts have an outcome.

mod refused;
mod splits;
#[cfg(test)]
mod splits_tests;

pub(crate) use refused::Refused;
pub(crate) use splits::Splits;
