//! Copying staged records into their target topic, exactly once.
//!
//! ```text
//! staged partition   [a a b a b b x x]   a, b: parts of the plan; x: of an attempt that failed
//! target partition   [a a b a b b]       the same batches, with new stamps, in the same order
//! ```
//!
//! Batches are copied without decompressing them. Each is given the plan's producer id and epoch,
//! and sequence numbers derived from its position in the plan, so the copy depends on the plan
//! alone. A repeated copy sends the same batches with the same sequence numbers, and the target's
//! leader stores each of them once, even if two copies run at the same time.

mod batch_sender;
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
