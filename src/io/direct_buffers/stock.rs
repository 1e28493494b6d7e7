//! The memory of the buffers for direct reads.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The position and length of a direct read and the address of its memory are multiples of this:
/// devices require 512 or 4096.
pub(super) const ALIGNMENT: usize = 4096;

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

impl Stock {
    pub(super) fn new(count_max: usize, capacity: usize) -> Self {
        Self { capacity, count_max, state: Mutex::default() }
    }

    /// The capacity of each buffer.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Lends the memory of a buffer; `None` while all are in use. It is longer than the capacity by
    /// one alignment, because the allocation may begin at any address.
    pub(super) fn lend(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        if state.lent == self.count_max {
            return None;
        }
        state.lent += 1;
        let free = state.free.pop();
        drop(state);
        Some(free.unwrap_or_else(|| vec![0; self.capacity + ALIGNMENT]))
    }

    /// Takes back the memory of a buffer that was lent.
    pub(super) fn take_back(&self, memory: Vec<u8>) {
        let mut state = self.lock();
        state.lent -= 1;
        state.free.push(memory);
    }

    /// Frees the memory of all buffers that are not in use.
    pub(super) fn release_free(&self) {
        let free = mem::take(&mut self.lock().free);
        drop(free);
    }

    /// The number of buffers with memory, in use or not.
    #[cfg(any(test, feature = "internals"))]
    pub(super) fn count(&self) -> usize {
        let state = self.lock();
        state.lent + state.free.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
