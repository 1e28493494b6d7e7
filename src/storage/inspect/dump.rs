//! `streamlog log dump`: the content of a segment's file by batch and record.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::{Disk, File, OpenMode, SystemDisk, read_exact_at};
use crate::record::{
    Batch, BatchSummary, Compression, Decompressor, HEADER_SIZE, Limits, ProducerStamp,
    RecordError, TimestampType,
};
use crate::storage::StorageError;
use crate::storage::inspect::findings::{Finding, Flaw};
use crate::storage::segments::{BadBatch, BatchScan, Expected, Source};
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// A segment's file, read from its beginning, batch by batch. Bytes that are not a batch produce a
/// finding, after which the next good batch follows.
#[derive(Debug)]
pub struct SegmentDump {
    file: Arc<dyn File>,
    path: PathBuf,
    position: u64,
    end: u64,
}

/// A batch of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpedBatch {
    /// The position of its first byte.
    pub position: u64,
    /// Its size in bytes.
    pub size: usize,
    /// Its first offset.
    pub base_offset: Offset,
    /// Its last offset, inclusive.
    pub last_offset: Offset,
    /// The leader epoch in which it was appended.
    pub leader_epoch: LeaderEpoch,
    /// The number of its records.
    pub record_count: u32,
    /// Their compression.
    pub compression: Compression,
    /// The source of their timestamps.
    pub timestamp_type: TimestampType,
    /// The base of their timestamps.
    pub base_timestamp: Timestamp,
    /// The largest of their timestamps.
    pub max_timestamp: Timestamp,
    /// The idempotent producer that sent it.
    pub producer: Option<ProducerStamp>,
    /// True if it is part of a transaction.
    pub is_transactional: bool,
    /// True if it is a control batch, without data.
    pub is_control: bool,
    /// The checksum in its header.
    pub crc: u32,
    bytes: Vec<u8>,
}

/// A record of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpedRecord {
    /// Its offset.
    pub offset: Offset,
    /// Its timestamp.
    pub timestamp: Timestamp,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its value; `None` is a tombstone.
    pub value: Option<Vec<u8>>,
    /// Its headers, in order.
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl SegmentDump {
    /// Opens a segment's file.
    pub fn open(disk: &dyn Disk, path: &Path) -> Result<Self, StorageError> {
        let refused = |source| StorageError::io("read", path, source);
        let file = disk.open(path, OpenMode::Read).map_err(refused)?;
        let end = file.len().map_err(refused)?;
        Ok(Self { file, path: path.to_owned(), position: 0, end })
    }

    /// As `open`, on the system's disk.
    pub fn open_system(path: &Path) -> Result<Self, StorageError> {
        Self::open(&SystemDisk::default(), path)
    }

    /// The next batch, or a finding about bytes that are not a batch; `None` at the end.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn next_batch(&mut self) -> Result<Option<Result<DumpedBatch, Finding>>, StorageError> {
        if self.position >= self.end {
            return Ok(None);
        }
        let position = self.position;
        let read = self.read(position);
        match read.map_err(|source| StorageError::io("read", &self.path, source))? {
            Ok(batch) => {
                self.position += batch.size as u64;
                Ok(Some(Ok(batch)))
            }
            Err(bad) => {
                let good_again = self.next_good(position)?;
                self.position = good_again.unwrap_or(self.end);
                let flaw = Flaw::Batch { bad, good_again };
                Ok(Some(Err(Finding { path: self.path.clone(), position, flaw })))
            }
        }
    }

    fn read(&self, position: u64) -> std::io::Result<Result<DumpedBatch, BadBatch>> {
        let left = self.end - position;
        let mut header = [0; HEADER_SIZE];
        if left < HEADER_SIZE as u64 {
            return Ok(Err(BadBatch::CutHeader { left }));
        }
        read_exact_at(&*self.file, &mut header, position)?;
        let size = match BatchSummary::parse(&header) {
            Ok(summary) => summary.size,
            Err(error) => return Ok(Err(error.into())),
        };
        if size as u64 > left {
            return Ok(Err(BadBatch::CutOff { size, left }));
        }
        let mut bytes = vec![0; size];
        read_exact_at(&*self.file, &mut bytes, position)?;
        Ok(DumpedBatch::parse(position, bytes).map_err(BadBatch::from))
    }

    fn next_good(&self, position: u64) -> Result<Option<u64>, StorageError> {
        let any = Expected { offset: Offset::ZERO, epoch: LeaderEpoch::NONE, dense: false };
        let found = BatchScan::new(Source::cached(&*self.file), position, self.end)
            .find_good(&any, None)
            .map_err(|source| StorageError::io("read", &self.path, source))?;
        Ok(found.map(|batch| batch.position))
    }
}

impl DumpedBatch {
    fn parse(position: u64, bytes: Vec<u8>) -> Result<Self, RecordError> {
        let batch = Batch::parse(&bytes)?;
        batch.check_checksum()?;
        Ok(Self {
            position,
            size: batch.size(),
            base_offset: batch.base_offset(),
            last_offset: batch.last_offset(),
            leader_epoch: batch.leader_epoch(),
            record_count: batch.record_count(),
            compression: batch.compression(),
            timestamp_type: batch.timestamp_type(),
            base_timestamp: batch.base_timestamp(),
            max_timestamp: batch.max_timestamp(),
            producer: batch.producer(),
            is_transactional: batch.is_transactional(),
            is_control: batch.is_control(),
            crc: batch.crc(),
            bytes,
        })
    }

    /// Passes its records to `take`, decompressed within the limits for untrusted batches, until
    /// `take` breaks.
    ///
    /// # Errors
    /// If the records contradict the header.
    pub fn for_each_record(
        &self,
        take: &mut dyn FnMut(DumpedRecord) -> ControlFlow<()>,
    ) -> Result<(), RecordError> {
        let limits = Limits::default();
        let batch = Batch::parse(&self.bytes)?;
        let payload = batch.decompressed(&mut Decompressor::new(limits))?;
        for record in batch.records(&payload, &limits) {
            let record = record?;
            let taken = take(DumpedRecord {
                offset: batch.offset_of(&record),
                timestamp: batch.timestamp_of(&record),
                key: record.key.map(<[u8]>::to_vec),
                value: record.value.map(<[u8]>::to_vec),
                headers: record
                    .headers
                    .map(|header| (header.key.to_vec(), header.value.map(<[u8]>::to_vec)))
                    .collect(),
            });
            if taken.is_break() {
                break;
            }
        }
        Ok(())
    }
}
