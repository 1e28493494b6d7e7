//! A walk from batch to batch through a segment by their headers alone.
//!
//! Records are neither read nor checked: the bytes were checked before they were written, and again
//! at recovery.

use std::io::{self, ErrorKind};

use crate::io::File;
use crate::record::{BatchSummary, HEADER_SIZE};
use crate::storage::segments::window::{Source, Window};

/// A batch and its position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    /// The position of its first byte.
    pub(crate) position: u64,
    /// The content of its header.
    pub(crate) summary: BatchSummary,
}

impl Located {
    /// The position after its last byte.
    pub(crate) fn end(&self) -> u64 {
        self.position + self.summary.size as u64
    }
}

/// A walk over the headers of a file's batches.
#[derive(Debug)]
pub(crate) struct BatchWalk<'f> {
    window: Window<'f>,
    position: u64,
}

/// Two index intervals of the default length, so that a single read usually finds a batch.
const STRETCH: usize = 8 * 1024;

impl<'f> BatchWalk<'f> {
    /// A walk from the batch at `position` to `end`, which is the end of a batch.
    pub(crate) fn new(file: &'f dyn File, position: u64, end: u64) -> Self {
        Self { window: Window::new(Source::cached(file), end, STRETCH), position }
    }

    /// The position of the next batch.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Continues at the batch at `position` instead.
    pub(crate) fn go_to(&mut self, position: u64) {
        self.position = position;
    }

    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// `InvalidData` if the bytes are not a batch, or the batch goes beyond the end; otherwise
    /// those of the file's reads.
    pub(crate) fn next(&mut self) -> io::Result<Option<Located>> {
        let position = self.position;
        if position >= self.window.end() {
            return Ok(None);
        }
        let bytes = self.window.bytes(position, HEADER_SIZE)?;
        let header = bytes.first_chunk().ok_or(ErrorKind::InvalidData)?;
        let summary = BatchSummary::parse(header)
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        let batch = Located { position, summary };
        if batch.end() > self.window.end() {
            return Err(ErrorKind::InvalidData.into());
        }
        self.position = batch.end();
        Ok(Some(batch))
    }
}
