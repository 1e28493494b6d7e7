//! Writing the batches of a replacement, with indexes and seal, to files with temporary names.

use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;

use crate::io::write_all_at;
use crate::record::BatchSummary;
use crate::storage::StorageError;
use crate::storage::segments::{FileKind, HeaderDigests, Indexer, Located, LogContext, Segment};
use crate::types::{Offset, Timestamp};

/// Bytes buffered before they are written.
const BUFFER: usize = 1 << 20;

/// Bytes written between two syncs: the kernel must never have a large backlog to write while
/// producers wait for their flushes.
const SYNC_INTERVAL: u64 = 8 << 20;

/// A replacement being written.
#[derive(Debug)]
pub(in crate::storage) struct ReplacementWriter {
    segment: Segment,
    indexer: Indexer,
    digests: HeaderDigests,
    buffer: Vec<u8>,
    written: u64,
    synced: u64,
    /// The offset after the last batch.
    next_offset: Offset,
}

impl ReplacementWriter {
    /// A writer of the segment that begins at `base`.
    pub(super) fn new(context: &Arc<LogContext>, base: Offset) -> Result<Self, StorageError> {
        let interval = context.config.load().index_interval.0;
        Ok(Self {
            segment: Segment::cleaned(context, base)?,
            indexer: Indexer::new(base, interval),
            digests: HeaderDigests::default(),
            buffer: Vec::with_capacity(BUFFER),
            written: 0,
            synced: 0,
            next_offset: base,
        })
    }

    /// The segment that is written.
    pub(super) fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Returns true if there is no batch yet.
    pub(in crate::storage) fn is_empty(&self) -> bool {
        self.written == 0 && self.buffer.is_empty()
    }

    /// Adds a batch, which must follow the batches before it. After an error the writer must not be
    /// used any more.
    ///
    /// # Errors
    /// Those of the disk, and `InvalidData` if the batch may not follow.
    pub(in crate::storage) fn add(&mut self, batch: &[u8]) -> Result<(), StorageError> {
        let header = batch.first_chunk().and_then(|header| BatchSummary::parse(header).ok());
        let follows = |summary: &BatchSummary| {
            summary.size == batch.len() && summary.base_offset >= self.next_offset
        };
        let Some(summary) = header.filter(follows) else {
            let error = io::Error::new(ErrorKind::InvalidData, "a batch was written wrongly");
            return Err(self.refused("write", error));
        };
        let position = self.written + self.buffer.len() as u64;
        let place = Located { position, summary };
        self.segment.push_entries(self.indexer.pass(&place));
        self.digests.pass(&place);
        self.buffer.extend_from_slice(batch);
        self.next_offset = summary.next_offset();
        if self.buffer.len() >= BUFFER { self.write() } else { Ok(()) }
    }

    /// Makes all batches durable, with indexes and seal. The segment is closed, and its offsets end
    /// at `next_offset`.
    pub(in crate::storage) fn finish(
        mut self,
        sealed_at: Timestamp,
        next_offset: Offset,
    ) -> Result<Segment, StorageError> {
        self.write()?;
        self.sync()?;
        self.segment.publish_size(self.written);
        self.segment.seal(&mut self.indexer, &self.digests, sealed_at, next_offset);
        self.segment.write_beside_cleaned()?;
        Ok(self.segment)
    }

    fn write(&mut self) -> Result<(), StorageError> {
        write_all_at(&**self.segment.file(), &mut [IoSlice::new(&self.buffer)], self.written)
            .map_err(|error| self.refused("write", error))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        if self.written - self.synced >= SYNC_INTERVAL {
            self.sync()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        let synced = self.segment.file().sync_data();
        synced.map_err(|error| self.refused("sync", error))?;
        self.synced = self.written;
        Ok(())
    }

    fn refused(&self, action: &'static str, error: io::Error) -> StorageError {
        StorageError::io(action, &self.segment.path(FileKind::Cleaned), error)
    }
}
