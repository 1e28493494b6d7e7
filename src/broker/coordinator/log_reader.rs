//! Reading a partition's log from its start to where it ended when the reign began.
//!
//! What lies below the watermark is all that is read: a record beyond it may yet be taken back. So
//! the reader waits until the watermark has passed what the log held at the start.

use std::io;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::broker::control::{Control, Unavailable as Stopping};
use crate::group::GroupRecord;
use crate::io::read_exact_at;
use crate::record::{Batch, Batches, Decompressor, Limits, RecordError};
use crate::replication::{Partition, PartitionError, ReadRequest};
use crate::types::Offset;

/// Bytes read at a time: a few milliseconds of replaying.
const CHUNK_BYTES: u64 = 256 * 1024;

/// Why a log could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// The partition refused.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The disk refused.
    #[error("the disk refused")]
    Disk(#[from] io::Error),
    /// What follows is no batch, so that the next one cannot be found.
    #[error("nothing can be read from offset {offset} on")]
    Unreadable {
        /// Where the damage begins.
        offset: Offset,
        /// What is wrong there.
        source: RecordError,
    },
    /// The broker stops.
    #[error(transparent)]
    Stopping(#[from] Stopping),
}

/// Some records of the log, in its order.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The records that could be read.
    pub(super) records: Vec<GroupRecord>,
    /// What was left out: where, and why.
    pub(super) damaged: Vec<(Offset, RecordError)>,
    next_offset: Offset,
}

/// Reads the log of a partition, part by part.
pub(super) struct LogReader {
    partition: Arc<Partition>,
    next_offset: Offset,
    end: Offset,
}

impl LogReader {
    /// Opens the log. A partition without one has nothing to read.
    pub(super) async fn open(
        partition: Arc<Partition>,
        control: Control,
    ) -> Result<Self, ReadError> {
        let opening = Arc::clone(&partition);
        control.run_blocking(move || opening.open()).await??;
        let end = partition.log().map_or(Offset::ZERO, |log| log.log_end_offset());
        Ok(Self { next_offset: partition.log_start_offset(), end, partition })
    }

    /// The next records; `None` at the end.
    pub(super) async fn next(&mut self, control: &Control) -> Result<Option<Chunk>, ReadError> {
        while self.next_offset < self.end {
            let (partition, from) = (Arc::clone(&self.partition), self.next_offset);
            let chunk = control.run_blocking(move || read(&partition, from)).await??;
            let moved_on = chunk.next_offset > from;
            self.next_offset = chunk.next_offset;
            if moved_on {
                return Ok(Some(chunk));
            }
            self.wait_for_watermark().await;
        }
        Ok(None)
    }

    async fn wait_for_watermark(&self) {
        let wake = Arc::new(Notify::new());
        let _place = self.partition.wait_beyond(self.next_offset, &wake);
        if self.partition.high_watermark() <= self.next_offset {
            wake.notified().await;
        }
    }
}

/// Reads once from `from`. Waits for the disk.
fn read(partition: &Partition, from: Offset) -> Result<Chunk, ReadError> {
    let request =
        ReadRequest { offset: from.get(), max_bytes: CHUNK_BYTES, at_least_one_batch: true };
    let answer = partition.read(request)?;
    let mut chunk = Chunk { records: Vec::new(), damaged: Vec::new(), next_offset: from };
    let Some(range) = answer.records else {
        // Compaction may have left nothing up to the watermark.
        chunk.next_offset = answer.high_watermark.max(from);
        return Ok(chunk);
    };
    let mut bytes = vec![0; usize::try_from(range.length).unwrap_or(usize::MAX)];
    read_exact_at(range.file.as_ref(), &mut bytes, range.position)?;
    let mut decompressor = Decompressor::new(Limits::default());
    for batch in Batches::new(&bytes) {
        let offset = chunk.next_offset;
        let batch = batch.map_err(|source| ReadError::Unreadable { offset, source })?;
        chunk.next_offset = batch.next_offset();
        if let Err(error) = chunk.take(&batch, &mut decompressor) {
            chunk.damaged.push((batch.base_offset(), error));
        }
    }
    assert!(chunk.next_offset > from, "reading from {from} came to {}", chunk.next_offset);
    Ok(chunk)
}

impl Chunk {
    /// Takes the records of a batch, up to the first that is damaged.
    fn take(
        &mut self,
        batch: &Batch<'_>,
        decompressor: &mut Decompressor,
    ) -> Result<(), RecordError> {
        if batch.is_control() {
            return Ok(());
        }
        batch.check_checksum()?;
        let bytes = batch.decompressed(decompressor)?;
        for record in batch.records(&bytes, decompressor.limits()) {
            let record = record?;
            self.records.push(GroupRecord {
                key: record.key.unwrap_or_default().to_vec(),
                value: record.value.map(<[u8]>::to_vec),
            });
        }
        Ok(())
    }
}
