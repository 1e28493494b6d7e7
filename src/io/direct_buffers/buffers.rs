//! The buffers for direct reads.

use std::sync::Arc;

use super::buffer::DirectBuffer;
use super::stock::Stock;

/// A bounded number of buffers of one capacity. Clones share them.
#[derive(Clone, Debug)]
pub struct DirectBuffers {
    stock: Arc<Stock>,
}

impl DirectBuffers {
    /// At most `count_max` buffers of `capacity` bytes, rounded up to a multiple of
    /// [`DirectBuffer::ALIGNMENT`]. Memory is allocated when a buffer is first needed.
    pub fn new(count_max: usize, capacity: usize) -> Self {
        let capacity = capacity.next_multiple_of(DirectBuffer::ALIGNMENT);
        Self { stock: Arc::new(Stock::new(count_max, capacity)) }
    }

    /// A buffer; `None` while all of them are in use.
    pub fn take(&self) -> Option<DirectBuffer> {
        Some(DirectBuffer::new(self.stock.lend()?, Arc::clone(&self.stock)))
    }

    /// Frees the memory of all buffers that are not in use.
    pub fn release_free(&self) {
        self.stock.release_free();
    }

    /// The number of buffers with memory, in use or not.
    #[cfg(any(test, feature = "internals"))]
    pub fn count(&self) -> usize {
        self.stock.count()
    }
}
