//! From batch to batch through a segment by their headers alone.
//!
//! The records are neither read nor checked: this serves bytes that were checked before they were
//! written, and again at recovery.

use std::io::{self, ErrorKind};

use crate::io::File;
use crate::record::{BatchSummary, HEADER_SIZE};
use crate::storage::segments::window::{Medium, Window};

/// A batch and where it is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    /// The position of its first byte.
    pub(crate) position: u64,
    /// What its header says.
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

/// Two index intervals: as a rule one read finds a batch.
const STRETCH: usize = 8 * 1024;

impl<'f> BatchWalk<'f> {
    /// A walk from the batch at `position` to `end`, which is the end of a batch.
    pub(crate) fn new(file: &'f dyn File, position: u64, end: u64) -> Self {
        Self { window: Window::new(file, end, Medium::Cache, STRETCH), position }
    }

    /// Where the next batch begins.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Goes on at the batch at `position` instead.
    pub(crate) fn go_to(&mut self, position: u64) {
        self.position = position;
    }

    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// `InvalidData` when what is there is no batch, or one that goes beyond the end; else as the
    /// file's reads.
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
