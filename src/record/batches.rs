//! Iteration over bytes that hold several batches, such as a fetched range or a segment.

use super::batch::Batch;
use super::error::RecordError;

/// The complete batches in a byte slice, in order.
///
/// A batch that is cut off at the end is not an error: the iteration ends before it, and it stays
/// in [`rest`](Self::rest). After an error the iteration ends, and `rest` starts with the faulty
/// batch.
#[derive(Clone, Debug)]
pub struct Batches<'a> {
    rest: &'a [u8],
    position: usize,
    failed: bool,
}

impl<'a> Batches<'a> {
    /// The batches in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, position: 0, failed: false }
    }

    /// The bytes not yet returned. At the end of the iteration: empty, or a batch that is cut off;
    /// after an error, the faulty batch and all bytes after it.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The number of bytes returned so far: the position of the next batch.
    pub fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self) -> Result<Option<Batch<'a>>, RecordError> {
        let Some(size) = Batch::peek_len(self.rest)? else { return Ok(None) };
        let Some((bytes, rest)) = self.rest.split_at_checked(size) else { return Ok(None) };
        let batch = Batch::parse(bytes)?;
        self.rest = rest;
        self.position = self.position.saturating_add(size);
        Ok(Some(batch))
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<Batch<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.advance();
        self.failed = next.is_err();
        next.transpose()
    }
}
