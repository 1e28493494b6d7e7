//! Copying staged records into the topic they are meant for, so that each is stored there once.
//!
//! ```text
//! staged partition   [a a b a b b x x]   a, b: parts of the plan; x: of an attempt that failed
//! target partition   [a a b a b b]       the same batches, stamped anew, in the same order
//! ```
//!
//! Batches are copied as they are: nothing is unpacked. Each is given the identity of the plan and
//! the sequence numbers that follow from its place, which makes the copy a function of the plan
//! alone. Whoever repeats it sends the same batches under the same numbers, and the leader of the
//! target stores each of them once, also when two copy at the same time.

mod outlet;
mod plan;
mod progress;
mod publishing;
mod raw;
mod stamp;
#[cfg(test)]
mod stamp_tests;

pub use plan::{Republication, StagedPart};
pub use progress::Progress;
pub use stamp::Stamp;
