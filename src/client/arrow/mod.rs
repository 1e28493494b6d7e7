//! Records as columns, in Arrow's form, for whoever works on many at once.
//!
//! ```text
//! chunk → rows (a sink: each column appended to) → record batch → the two structs of Arrow's C
//! data interface, which any Arrow library takes over without copying
//! ```
//!
//! Every batch has bytes of its own, copied once: it outlives the consumer, and keeps nothing else
//! in memory. There is Arrow's format here and nothing of what computes with it.

#[cfg(test)]
mod arrow_tests;
mod batch;
mod bytes;
mod column;
mod headers;
mod rows;

pub use batch::RecordBatch;
pub use column::Column;
pub use rows::{Rows, RowsMax};
