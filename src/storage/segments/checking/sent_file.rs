//! The file of a segment's batches as used for sending.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::io::{File, FileRange, FileWrapper, read_exact_at};
use crate::record::{Batch, BatchSummary, HEADER_SIZE, RecordError};
use crate::storage::segments::checking::header_check::HeaderCheck;
use crate::storage::segments::{Located, Segment};

/// A segment's file for sending: only verified bytes count as cached, and `read_checked` checks the
/// batches of all others.
///
/// No bytes are sent or read once the segment has been truncated. Otherwise a receiver could get
/// the head of one batch and the tail of another, or batches of a later epoch in an answer that
/// belongs to an earlier epoch.
#[derive(Debug)]
struct SentFile {
    segment: Arc<Segment>,
    file: Arc<dyn File>,
    /// The number of truncations before the range was located.
    truncations: u64,
}

/// The reason why a range is no longer sent.
#[derive(Debug, thiserror::Error)]
#[error("the log was truncated while its records were sent")]
struct Truncated;

impl Segment {
    /// A range of the segment's batches, for sending or reading; the file need not be open.
    /// `truncations` is the number of truncations before the range was located.
    pub(crate) fn range(self: &Arc<Self>, range: Range<u64>, truncations: u64) -> FileRange {
        let (segment, file) = (Arc::clone(self), Arc::clone(self.file()));
        let sent = SentFile { segment, file, truncations };
        let length = range.end - range.start;
        FileRange { file: Arc::new(sent), position: range.start, length }
    }
}

impl SentFile {
    /// Does `work` with the bytes of the file. Fails if the segment was truncated before the work
    /// or during it.
    fn unless_truncated<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.require_unchanged()?;
        let done = work()?;
        self.require_unchanged().map(|()| done)
    }

    fn require_unchanged(&self) -> io::Result<()> {
        if self.segment.truncations() == self.truncations {
            return Ok(());
        }
        Err(io::Error::new(ErrorKind::InvalidData, Truncated))
    }

    /// Reads the batch at `position` and checks its checksum.
    fn batch_at(&self, position: u64) -> io::Result<(Located, Vec<u8>)> {
        let mut header = [0; HEADER_SIZE];
        read_exact_at(&*self.file, &mut header, position)?;
        let size = BatchSummary::parse(&header).map_err(invalid)?.size;
        if position + size as u64 > self.file.len()? {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![0; size];
        read_exact_at(&*self.file, &mut bytes, position)?;
        // Parse the header of these bytes, which are the bytes that are sent: the first read of the
        // header may have returned something else.
        let header = bytes.first_chunk().ok_or(ErrorKind::InvalidData)?;
        let summary = BatchSummary::parse(header).map_err(invalid)?;
        Batch::parse(&bytes).and_then(|batch| batch.check_checksum()).map_err(invalid)?;
        Ok((Located { position, summary }, bytes))
    }

    /// Reads these bytes, and checks the batches that they belong to.
    fn read_batches(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        let mut check =
            HeaderCheck::leading_to(&self.segment, position).map_err(io::Error::other)?;
        let mut done = 0;
        while done < buffer.len() {
            let (batch, bytes) = self.batch_at(check.position())?;
            check.pass(&batch)?;
            let wanted = position + done as u64;
            if let Ok(skip) = usize::try_from(wanted - batch.position)
                && wanted < batch.end()
            {
                let taken = (bytes.len() - skip).min(buffer.len() - done);
                buffer[done..done + taken].copy_from_slice(&bytes[skip..skip + taken]);
                done += taken;
            }
        }
        Ok(())
    }
}

fn invalid(error: RecordError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

impl FileWrapper for SentFile {
    fn wrapped(&self) -> &dyn File {
        &*self.file
    }

    fn is_cached(&self, position: u64, length: u64) -> bool {
        self.segment.verified().look_for_changes(&*self.file);
        self.segment.verified().covers(position, length) && self.file.is_cached(position, length)
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.unless_truncated(|| self.file.read_at(buffer, position))
    }

    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize> {
        self.unless_truncated(|| self.file.send_to(socket, position, length))
    }

    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        self.unless_truncated(|| self.read_batches(buffer, position))
    }
}
