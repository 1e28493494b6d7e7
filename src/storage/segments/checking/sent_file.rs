//! The file of a segment's batches as used for sending.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use crate::io::{File, FileRange, FileWrapper, read_exact_at};
use crate::record::{Batch, BatchSummary, HEADER_SIZE, RecordError};
use crate::storage::segments::checking::header_check::HeaderCheck;
use crate::storage::segments::{Located, Segment};

/// A segment's file for sending: only verified bytes count as cached, and all others are checked as
/// they are read.
#[derive(Debug)]
struct SentFile {
    segment: Arc<Segment>,
    file: Arc<dyn File>,
}

impl Segment {
    /// A range of its batches, for sending or reading; the file need not be open.
    pub(crate) fn range(self: &Arc<Self>, position: u64, length: u64) -> FileRange {
        let sent = SentFile { segment: Arc::clone(self), file: Arc::clone(self.file()) };
        FileRange { file: Arc::new(sent), position, length }
    }
}

impl SentFile {
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
        // These are the bytes that are sent, and the header may have read differently before.
        let header = bytes.first_chunk().ok_or(ErrorKind::InvalidData)?;
        let summary = BatchSummary::parse(header).map_err(invalid)?;
        Batch::parse(&bytes).and_then(|batch| batch.check_checksum()).map_err(invalid)?;
        Ok((Located { position, summary }, bytes))
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
        self.segment.verified().covers(position, length) && self.file.is_cached(position, length)
    }

    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
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
