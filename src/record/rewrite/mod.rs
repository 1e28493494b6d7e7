//! Building batches from existing ones: with some of their records, or with another codec.

mod batch_rewriter;
mod repacker;

pub use batch_rewriter::BatchRewriter;
pub use repacker::Repacker;
