//! Memory for reads that bypass the page cache.
//!
//! Such a read needs aligned memory, and buffers that are reused cost no page faults. Their number
//! is bounded: without a free buffer a reader uses the page cache instead.

mod buffer;
mod buffers;
mod stock;

pub use buffer::DirectBuffer;
pub use buffers::DirectBuffers;

#[cfg(test)]
mod direct_buffers_tests;
