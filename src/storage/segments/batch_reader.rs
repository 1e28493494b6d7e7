//! A sequential reader of a finished segment that checks every batch, for compaction and repair.

use std::io::{self, ErrorKind};
use std::ops::Range;

use crate::io::is_reported;
use crate::record::{Batch, BatchSummary, HEADER_SIZE, RecordError};
use crate::storage::StorageError;
use crate::storage::segments::window::{Source, Window};
use crate::storage::segments::{FileKind, Located, Segment};

/// A reader of the batches of a segment.
#[derive(Debug)]
pub(crate) struct BatchReader<'s> {
    segment: &'s Segment,
    window: Window<'s>,
    position: u64,
}

const STRETCH: usize = 256 * 1024;

impl Segment {
    /// A reader of all batches of the segment.
    pub(crate) fn batches(&self) -> Result<BatchReader<'_>, StorageError> {
        Ok(self.batches_in(0..self.size()?))
    }

    /// A reader of the batches in a range, which begins and ends between batches.
    pub(crate) fn batches_in(&self, bytes: Range<u64>) -> BatchReader<'_> {
        let window = Window::new(Source::cached(&**self.file()), bytes.end, STRETCH);
        BatchReader { segment: self, window, position: bytes.start }
    }

    /// The error for a batch that differs from the one written.
    pub(crate) fn corrupt_at(&self, place: &Located, error: &RecordError) -> StorageError {
        let path = self.path(FileKind::Log);
        tracing::error!(path = %path.display(), place.position, %error, "a batch is damaged");
        let offsets = place.summary.base_offset..place.summary.next_offset();
        self.context.corrupt(offsets, &path, place.position)
    }
}

impl BatchReader<'_> {
    /// The next batch and its position; `None` at the end. Damage that the operator has skipped is
    /// passed over.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not a batch, fail the checksum, or cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<(Located, Batch<'_>)>, StorageError> {
        self.pass_skipped();
        let position = self.position;
        if position >= self.window.end() {
            return Ok(None);
        }
        let place = match self.locate() {
            Ok(place) => place,
            Err(error) => return Err(self.unreadable(&error)),
        };
        self.position = place.end();
        let segment = self.segment;
        let bytes = match self.window.bytes(position, place.summary.size) {
            Ok(bytes) => bytes.get(..place.summary.size).unwrap_or(bytes),
            Err(error) => return Err(unreadable(segment, position, &error)),
        };
        let batch = Batch::parse(bytes).and_then(|batch| {
            batch.check_checksum()?;
            Ok(batch)
        });
        match batch {
            Ok(batch) => Ok(Some((place, batch))),
            Err(error) => Err(segment.corrupt_at(&place, &error)),
        }
    }

    fn pass_skipped(&mut self) {
        let segment = self.segment;
        let skipped = segment
            .damages()
            .iter()
            .find(|damage| damage.start == self.position && segment.context.is_skipped(damage))
            .map(|damage| damage.end);
        self.position = skipped.unwrap_or(self.position);
    }

    /// The batch at the position, from its header.
    fn locate(&mut self) -> io::Result<Located> {
        let position = self.position;
        let bytes = self.window.bytes(position, HEADER_SIZE)?;
        let header = bytes.first_chunk().ok_or(ErrorKind::UnexpectedEof)?;
        let summary = BatchSummary::parse(header)
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        let place = Located { position, summary };
        if place.end() > self.window.end() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(place)
    }

    fn unreadable(&self, error: &io::Error) -> StorageError {
        unreadable(self.segment, self.position, error)
    }
}

/// Logs and returns the error for a place where no batch can be found: the disk returned an error,
/// the header is invalid, or the batch goes beyond the file. All of these count as damage.
fn unreadable(segment: &Segment, position: u64, error: &io::Error) -> StorageError {
    let path = segment.path(FileKind::Log);
    if !is_reported(error) {
        tracing::error!(path = %path.display(), position, %error, "a batch cannot be read");
    }
    segment.context.corrupt(segment.base()..segment.base(), &path, position)
}
