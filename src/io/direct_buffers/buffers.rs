//! The stock of buffers for direct reads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::io::DirectBuffer;

/// A bounded number of buffers of one capacity. Clones share them.
#[derive(Clone, Debug)]
pub struct DirectBuffers {
    stock: Arc<Stock>,
}

/// The memory of the free buffers, and the number of buffers in use.
#[derive(Debug)]
pub(super) struct Stock {
    capacity: usize,
    count_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: Vec<Vec<u8>>,
    lent: usize,
}

impl DirectBuffers {
    /// At most `count_max` buffers of `capacity` bytes, rounded up to a multiple of
    /// [`DirectBuffer::ALIGNMENT`]. Memory is allocated when a buffer is first needed.
    pub fn new(count_max: usize, capacity: usize) -> Self {
        let capacity = capacity.next_multiple_of(DirectBuffer::ALIGNMENT);
        Self { stock: Arc::new(Stock { capacity, count_max, state: Mutex::default() }) }
    }

    /// A buffer; `None` while all of them are in use.
    pub fn take(&self) -> Option<DirectBuffer> {
        let mut state = self.stock.lock();
        if state.lent == self.stock.count_max {
            return None;
        }
        state.lent += 1;
        let free = state.free.pop();
        drop(state);
        Some(DirectBuffer::new(free, Arc::clone(&self.stock)))
    }

    /// Frees the memory of all buffers that are not in use.
    pub fn release_free(&self) {
        let free = std::mem::take(&mut self.stock.lock().free);
        drop(free);
    }

    /// The number of buffers with memory, in use or not.
    #[cfg(any(test, feature = "internals"))]
    pub fn count(&self) -> usize {
        let state = self.stock.lock();
        state.lent + state.free.len()
    }
}

impl Stock {
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn take_back(&self, memory: Vec<u8>) {
        let mut state = self.lock();
        state.lent -= 1;
        state.free.push(memory);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
