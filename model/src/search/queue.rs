//! A queue that frees memory as it shrinks.

use std::collections::VecDeque;

/// A queue in blocks, so that memory is freed as items are taken out.
pub(super) struct Queue<T> {
    blocks: VecDeque<VecDeque<T>>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { blocks: VecDeque::new() }
    }
}

impl<T> Queue<T> {
    const BLOCK: usize = 1 << 14;

    pub(super) fn push(&mut self, item: T) {
        match self.blocks.back_mut() {
            // A block is never reallocated.
            Some(block) if block.len() < block.capacity() => block.push_back(item),
            _ => {
                let mut block = VecDeque::with_capacity(Self::BLOCK);
                block.push_back(item);
                self.blocks.push_back(block);
            }
        }
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let block = self.blocks.front_mut()?;
        let item = block.pop_front();
        if block.is_empty() {
            self.blocks.pop_front();
        }
        item
    }
}
