//! One buffer for a direct read.

use std::sync::Arc;

use super::stock::{ALIGNMENT, Stock};

/// A buffer for [`File::read_direct`](crate::io::File::read_direct), returned to its stock when it
/// is dropped.
#[derive(Debug)]
pub struct DirectBuffer {
    memory: Vec<u8>,
    length: usize,
    stock: Arc<Stock>,
}

impl DirectBuffer {
    /// The position and length of a direct read and the address of its memory are multiples of
    /// this: devices require 512 or 4096.
    pub const ALIGNMENT: usize = ALIGNMENT;

    /// A buffer with memory that the stock has lent.
    pub(super) fn new(memory: Vec<u8>, stock: Arc<Stock>) -> Self {
        Self { memory, length: 0, stock }
    }

    /// The number of bytes that it can hold.
    pub fn capacity(&self) -> usize {
        self.stock.capacity()
    }

    /// Fills the buffer with at least `length` bytes, rounded up to whole blocks but not above the
    /// capacity. Calls `read` with the part still to fill and the number of bytes already read,
    /// until that part is full or the file ends.
    ///
    /// # Errors
    /// As `read`.
    pub(in crate::io) fn fill<E>(
        &mut self,
        length: usize,
        mut read: impl FnMut(&mut [u8], usize) -> Result<usize, E>,
    ) -> Result<(), E> {
        self.length = 0;
        let length = length.next_multiple_of(Self::ALIGNMENT).min(self.capacity());
        let lead = self.lead();
        let blocks = &mut self.memory[lead..lead + length];
        let mut done = 0;
        while done < blocks.len() {
            let count = read(&mut blocks[done..], done)?;
            done += count;
            // A direct read ends within a block only at the end of the file.
            if count == 0 || !done.is_multiple_of(Self::ALIGNMENT) {
                break;
            }
        }
        self.length = done;
        Ok(())
    }

    fn lead(&self) -> usize {
        self.memory.as_ptr().align_offset(Self::ALIGNMENT)
    }
}

impl AsRef<[u8]> for DirectBuffer {
    /// The bytes that the last read has filled.
    fn as_ref(&self) -> &[u8] {
        let lead = self.lead();
        &self.memory[lead..lead + self.length]
    }
}

impl Drop for DirectBuffer {
    fn drop(&mut self) {
        self.stock.take_back(std::mem::take(&mut self.memory));
    }
}
