//! Writing the surviving records of neighbouring segments into a single new segment.
//!
//! The last batch of the old segments is always written, emptied if need be. So the offsets of the
//! new segment show exactly which segments it replaces, even after a crash, and the next segment
//! follows without a gap.

use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;

use crate::io::write_all_at;
use crate::record::BatchSummary;
use crate::storage::StorageError;
use crate::storage::compaction::candidate::Effort;
use crate::storage::compaction::survivors::{Fate, Survivors};
use crate::storage::log::Closed;
use crate::storage::segments::{
    FileKind, HeaderDigests, Indexer, Located, LogContext, Segment, SegmentFile,
};
use crate::types::{Offset, Timestamp};

/// The result of cleaning a group of segments.
#[derive(Debug)]
pub(super) enum Cleaned {
    /// All records of the single segment survive: it stays as it is.
    Unchanged,
    /// The surviving records, durable in files with temporary names.
    Written(Arc<Segment>),
    /// The pass must stop.
    Stopped,
}

/// Bytes buffered before they are written.
const BUFFER: usize = 1 << 20;

/// Bytes written between two syncs: the kernel must never have a large backlog to write while
/// producers wait for their flushes.
const SYNC_INTERVAL: u64 = 8 << 20;

/// A segment being written.
struct Writer {
    segment: Segment,
    indexer: Indexer,
    digests: HeaderDigests,
    buffer: Vec<u8>,
    written: u64,
    synced: u64,
}

/// Writes the surviving records of a group. A caller that does not use the result must remove its
/// files.
///
/// # Errors
/// `Corrupt` if a batch is damaged.
pub(super) fn clean(
    context: &Arc<LogContext>,
    group: &[Closed],
    survivors: &mut Survivors,
    effort: &Effort<'_>,
) -> Result<Cleaned, StorageError> {
    let Some((first, last)) = group.first().zip(group.last()) else {
        return Ok(Cleaned::Unchanged);
    };
    let mut writer = Writer::new(context, &first.segment)?;
    let mut is_changed = group.len() > 1;
    let mut sealed_at = Timestamp::NONE;
    for closed in group {
        sealed_at = sealed_at.max(closed.segment.facts(closed.next_offset)?.sealed_at);
        let size = closed.segment.size()?;
        let is_last_segment = Arc::ptr_eq(&closed.segment, &last.segment);
        let mut batches = closed.segment.batches()?;
        while let Some((place, batch)) = batches.next()? {
            if !(effort.keep_going)(place.summary.size as u64) {
                return Ok(Cleaned::Stopped);
            }
            let is_last = is_last_segment && place.end() == size;
            let fate = survivors
                .judge(&batch, is_last)
                .map_err(|error| closed.segment.corrupt_at(&place, &error))?;
            is_changed |= fate != Fate::Whole;
            match fate {
                Fate::Whole => writer.add(batch.bytes())?,
                Fate::Rewritten(bytes) => writer.add(&bytes)?,
                Fate::Gone => {}
            }
        }
    }
    if !is_changed {
        return Ok(Cleaned::Unchanged);
    }
    let segment = writer.finish(sealed_at, last.next_offset)?;
    Ok(Cleaned::Written(Arc::new(segment)))
}

/// Removes the files of a replacement that is not put in place.
pub(super) fn discard(context: &LogContext, base: Offset) -> Result<(), StorageError> {
    for kind in FileKind::OF_CLEANED {
        let path = SegmentFile::path(&context.dir, base, kind);
        match context.disk.remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(StorageError::io("remove", &path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Writer {
    fn new(context: &Arc<LogContext>, first: &Segment) -> Result<Self, StorageError> {
        let interval = context.config.load().index_interval.0;
        Ok(Self {
            segment: Segment::cleaned(context, first.base())?,
            indexer: Indexer::new(first.base(), interval),
            digests: HeaderDigests::default(),
            buffer: Vec::with_capacity(BUFFER),
            written: 0,
            synced: 0,
        })
    }

    fn add(&mut self, batch: &[u8]) -> Result<(), StorageError> {
        let header = batch.first_chunk().and_then(|header| BatchSummary::parse(header).ok());
        let Some(summary) = header.filter(|summary| summary.size == batch.len()) else {
            let error = io::Error::new(ErrorKind::InvalidData, "a batch was written wrongly");
            return Err(self.refused("write", error));
        };
        let position = self.written + self.buffer.len() as u64;
        let place = Located { position, summary };
        self.segment.push_entries(self.indexer.pass(&place));
        self.digests.pass(&place);
        self.buffer.extend_from_slice(batch);
        if self.buffer.len() >= BUFFER { self.write() } else { Ok(()) }
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

    fn finish(
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

    fn refused(&self, action: &'static str, error: io::Error) -> StorageError {
        StorageError::io(action, &self.segment.path(FileKind::Cleaned), error)
    }
}
