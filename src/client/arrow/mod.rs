//! Records as columns in Arrow format, for batch processing.
//!
//! ```text
//! chunk → rows (a sink that appends to each column) → record batch → the two structs of Arrow's C
//! data interface, which any Arrow library takes over without copying
//! ```
//!
//! Every batch owns its bytes, copied once: it outlives the consumer and keeps no other memory
//! alive. This module uses Arrow's format only, none of its compute kernels.

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
