//! The published values: random letters, which compress somewhat, but less than text does.

use uuid::Uuid;

/// Larger than a batch, so that no value repeats within one.
const POOL_BYTES: usize = 1 << 20;
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Values of one size.
pub(super) struct Values {
    pool: Vec<u8>,
    size: usize,
    at: usize,
}

impl Values {
    /// Values of `size` bytes.
    pub(super) fn new(size: usize) -> Self {
        let random = std::iter::repeat_with(Uuid::new_v4).flat_map(Uuid::into_bytes);
        let letters = random.map(|byte| LETTERS[usize::from(byte) % LETTERS.len()]);
        let pool = letters.take(POOL_BYTES + size).collect();
        Self { pool, size, at: 0 }
    }

    /// Returns the next value.
    pub(super) fn draw(&mut self) -> &[u8] {
        let begin = self.at;
        self.at = (begin + self.size) % POOL_BYTES;
        &self.pool[begin..begin + self.size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_size_and_differ() {
        let mut values = Values::new(300_000);
        let first = values.draw().to_vec();
        for _ in 0..10 {
            let next = values.draw();
            assert_eq!(next.len(), 300_000);
            assert_ne!(next, first);
        }
        assert!(Values::new(0).draw().is_empty());
    }
}
