//! Reading a partition's log from its start to the log end offset at the start of the leader epoch.
//!
//! Only records below the high watermark are read, since a record above it may still be lost. So
//! the reader waits until the high watermark reaches the end offset. Damage hides only the damaged
//! batch, and the batches after it are read.

use std::io;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::engine::{Control, Unavailable as Stopping};
use crate::group::GroupRecord;
use crate::io::{FileRange, read_exact_at};
use crate::record::{Batch, Batches, Decompressor, Limits, RecordError};
use crate::replication::{Partition, PartitionError, ReadAnswer, ReadRequest, Reader};
use crate::storage::StorageError;
use crate::types::Offset;

/// The number of bytes per read, which take a few milliseconds to replay.
const CHUNK_BYTES: u64 = 256 * 1024;

/// The reason why a log could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// The partition returned an error.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The disk returned an error.
    #[error("the disk refused")]
    Disk(#[from] io::Error),
    /// A batch that was valid is not valid when read again.
    #[error("two reads of the batch at offset {offset} returned different bytes")]
    Unsteady {
        /// The offset.
        offset: Offset,
    },
    /// The broker is stopping.
    #[error(transparent)]
    Stopping(#[from] Stopping),
}

/// The damage at a position of the log.
#[derive(Debug, thiserror::Error)]
pub(super) enum Damage {
    /// A damaged batch, or a damaged record in it.
    #[error(transparent)]
    Batch(RecordError),
    /// A stretch whose contents are unknown.
    #[error(transparent)]
    Log(StorageError),
    /// Bytes that are not a batch, or a batch that does not belong at this position.
    #[error("the bytes here are not a readable batch")]
    Framing,
    /// A batch with valid records and impossible offsets: the checksum does not cover base offsets.
    #[error(
        "the batch states that it ends before offset {next}, but other records have these offsets"
    )]
    Offset {
        /// The stated end.
        next: Offset,
    },
}

/// An entry of the log.
#[derive(Debug)]
pub(super) enum Entry {
    /// A valid record.
    Record(GroupRecord),
    /// Something that was skipped, with its offset and the reason.
    Damaged(Offset, Damage),
}

/// A part of the log.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The entries, in log order.
    pub(super) entries: Vec<Entry>,
    next_offset: Offset,
}

/// Reads the log of a partition, chunk by chunk.
pub(super) struct LogReader {
    partition: Arc<Partition>,
    next_offset: Offset,
    end: Offset,
}

impl LogReader {
    /// Opens the log, once no other replica can have more records. If the partition has no log,
    /// there is nothing to read.
    pub(super) async fn open(
        partition: Arc<Partition>,
        control: Control,
    ) -> Result<Self, ReadError> {
        let opening = Arc::clone(&partition);
        control.run_blocking(move || opening.open()).await??;
        wait_until(&partition, Offset::ZERO, || !partition.is_unvouched()).await;
        let end = partition.log().map_or(Offset::ZERO, |log| log.log_end_offset());
        Ok(Self { next_offset: partition.log_start_offset(), end, partition })
    }

    /// The next records; `None` at the end.
    pub(super) async fn next(&mut self, control: &Control) -> Result<Option<Chunk>, ReadError> {
        while self.next_offset < self.end {
            self.wait_for_watermark().await;
            let (partition, from) = (Arc::clone(&self.partition), self.next_offset);
            let chunk = control.run_blocking(move || read_noting(&partition, from)).await??;
            let moved_on = chunk.next_offset > from;
            self.next_offset = chunk.next_offset;
            if moved_on {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    /// Waits until the high watermark has reached the end, or this broker no longer leads. Until
    /// then a new leader cannot be read: its high watermark may be below that of its predecessor.
    async fn wait_for_watermark(&self) {
        let last = Offset::new(self.end.get() - 1);
        wait_until(&self.partition, last, || self.partition.high_watermark() >= self.end).await;
    }
}

/// Waits until a condition holds, or this broker no longer leads. The condition is looked at when
/// the high watermark passes `last`, and when what the store says of the partition changes.
async fn wait_until(partition: &Arc<Partition>, last: Offset, condition: impl Fn() -> bool) {
    let wake = Arc::new(Notify::new());
    loop {
        // Register before checking, so that no wakeup in between is missed.
        let _registration = partition.wait_beyond(last, &wake);
        if condition() || partition.check_running().is_err() {
            return;
        }
        wake.notified().await;
    }
}

/// Reads one chunk from `from`, and registers damage that the log does not know yet, so that an
/// operator can list and skip it.
fn read_noting(partition: &Partition, from: Offset) -> Result<Chunk, ReadError> {
    let chunk = read(partition, from)?;
    let is_new = |entry: &&Entry| matches!(entry, Entry::Damaged(_, damage) if damage.is_new());
    for entry in chunk.entries.iter().filter(is_new) {
        if let Entry::Damaged(offset, _) = entry {
            partition.locate_damage(*offset)?;
        }
    }
    Ok(chunk)
}

/// Reads one chunk from `from`, or from the end of the damage at that offset. Blocks on the disk.
fn read(partition: &Partition, from: Offset) -> Result<Chunk, ReadError> {
    let request = ReadRequest {
        reader: Reader::Consumer,
        offset: from.get(),
        max_bytes: CHUNK_BYTES,
        at_least_one_batch: true,
        shows_gap: false,
    };
    let mut chunk = Chunk { entries: Vec::new(), next_offset: from };
    let range = match partition.read(request) {
        // The caller waits for the high watermark.
        Ok(answer) if answer.high_watermark <= from => None,
        Ok(ReadAnswer { records: None, .. }) => {
            // Either compaction has removed everything, or a batch states wrong offsets.
            let behind = chunk.salvage(partition, request)?;
            if behind.is_some() {
                chunk.leave_out(from, Damage::Framing);
            }
            behind
        }
        Ok(answer) => answer.records,
        Err(PartitionError::Storage(error @ StorageError::Corrupt { .. })) => {
            chunk.leave_out(from, Damage::Log(error));
            chunk.salvage(partition, request)?
        }
        Err(error) => return Err(error.into()),
    };
    let Some(range) = range else { return Ok(chunk) };
    let below = partition.high_watermark();
    if chunk.take_all(&range, below)? {
        return Ok(chunk);
    }
    chunk.leave_out(from, Damage::Framing);
    match chunk.salvage(partition, request)? {
        Some(range) if !chunk.take_all(&range, below)? => Err(ReadError::Unsteady { offset: from }),
        _ => Ok(chunk),
    }
}

impl Damage {
    /// True if the log may not know of the damage.
    fn is_new(&self) -> bool {
        !matches!(self, Self::Log(_))
    }

    /// True if the damage may have destroyed records.
    pub(super) fn may_hide_records(&self) -> bool {
        !matches!(self, Self::Offset { .. })
    }
}

impl Chunk {
    fn leave_out(&mut self, offset: Offset, damage: Damage) {
        self.entries.push(Entry::Damaged(offset, damage));
    }

    /// Finds the batches after the damage at the offset of `request`, and moves on to them.
    fn salvage(
        &mut self,
        partition: &Partition,
        request: ReadRequest,
    ) -> Result<Option<FileRange>, ReadError> {
        let found = partition.salvage(request)?;
        let (next_offset, range) = match found {
            Some((base_offset, range)) => (base_offset, Some(range)),
            None => (partition.high_watermark(), None),
        };
        self.next_offset = self.next_offset.max(next_offset);
        Ok(range)
    }

    /// Reads batches that end below `below`, up to the first invalid one; returns true if there
    /// were any.
    fn take_all(&mut self, range: &FileRange, below: Offset) -> Result<bool, ReadError> {
        let mut bytes = vec![0; usize::try_from(range.length).unwrap_or(usize::MAX)];
        read_exact_at(range.file.as_ref(), &mut bytes, range.position)?;
        let mut decompressor = Decompressor::new(Limits::default());
        let before = self.next_offset;
        let batches: Vec<Batch<'_>> = Batches::new(&bytes).map_while(Result::ok).collect();
        for (nth, batch) in batches.iter().enumerate() {
            let following = batches.get(nth + 1).map(Batch::base_offset);
            if nth > 0 && following.is_none() && batch.base_offset() > self.next_offset {
                // A gap, or a wrong offset: the next chunk shows the batches after it.
                break;
            }
            if let Err(error) = self.take(batch, &mut decompressor) {
                self.leave_out(batch.base_offset(), Damage::Batch(error));
            }
            let next = batch.next_offset();
            if next <= following.unwrap_or(below) {
                self.next_offset = next.max(self.next_offset);
            } else {
                self.leave_out(batch.base_offset(), Damage::Offset { next });
            }
        }
        Ok(self.next_offset > before)
    }

    /// Reads the records of a batch, up to the first damaged one.
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
            self.entries.push(Entry::Record(GroupRecord {
                key: record.key.unwrap_or_default().to_vec(),
                value: record.value.map(<[u8]>::to_vec),
            }));
        }
        Ok(())
    }
}
