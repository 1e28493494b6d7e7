//! New batches made of stored ones: some of their records, or the same under another codec.

mod batch_rewriter;
mod repacker;

pub use batch_rewriter::BatchRewriter;
pub use repacker::Repacker;
