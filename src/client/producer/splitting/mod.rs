//! What becomes of a batch that its topic does not take for its size.
//!
//! It took no sequence number at the broker, so its halves go out in its place under the numbers
//! that their records have had all along, and are cut again as long as they are refused. Only a
//! record that is refused alone is given up. The batch is settled once all its parts have ended.

mod halves;
mod parts;
mod splits;
#[cfg(test)]
mod splits_tests;

pub(crate) use parts::{Outcome, Part};
pub(crate) use splits::Splits;
