//! Batches as they are sent, and their division: in halves, or without the records at fault.
//!
//! Records keep their numbers within the original batch, from which their outcomes are found.

mod batch;
mod division;
mod numbers;
mod shares;

pub(crate) use batch::{Identity, Packed, Place, finished, sequence_after};
pub(crate) use numbers::Numbers;
