//! Splitting batches that exceed the size limit of their topic.
//!
//! The broker has not advanced the sequence for a refused batch, so its halves are sent in its
//! place with the sequence numbers that their records have already. A half that is refused is split
//! again. Only a record that is refused alone is given up. The batch is settled once all its parts
//! have an outcome.

mod halves;
mod parts;
mod splits;
#[cfg(test)]
mod splits_tests;

pub(crate) use parts::{Outcome, Part};
pub(crate) use splits::Splits;
