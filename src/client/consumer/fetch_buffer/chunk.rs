//! The records fetched from one partition by one request, read batch by batch and record by record.
//!
//! A batch is verified and decompressed when its first record is read. A batch may start with
//! records before the position: these are skipped, and so are control batches. After a batch the
//! position is the batch's end rather than the last record's, since offsets may have gaps: after
//! compaction, and in topics whose offsets count bytes.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use crate::client::consumer::message::{Message, Origin, Parts, Span};
use crate::client::consumer::sink::{ReadRecord, Sink};
use crate::client::{ClientError, Damage};
use crate::record::{
    Batch, Batches, Decompressor, HEADER_SIZE, Record, RecordError, RecordsAt, TimestampType,
};
use crate::types::{Offset, Timestamp, TopicPartition};

/// Batches of a partition, with the reading position.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// The partition's slot in the assignment.
    pub(crate) slot: usize,
    /// The generation of the slot when this was fetched.
    pub(crate) generation: u32,
    partition: TopicPartition,
    /// Batches not yet opened.
    rest: Bytes,
    size: usize,
    open: Option<OpenBatch>,
    position: Offset,
    check_crcs: bool,
}

#[derive(Debug)]
struct OpenBatch {
    origin: Arc<Origin>,
    walk: RecordsAt,
    base_offset: Offset,
    next_offset: Offset,
    base_timestamp: Timestamp,
    max_timestamp: Timestamp,
}

/// The next step in reading a batch.
#[derive(Debug)]
enum Step {
    Message(Message),
    /// The batch has only records at or beyond this limit left.
    Limit(Offset),
    End,
}

/// The origin of a chunk: the partition and position that were fetched.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) slot: usize,
    pub(crate) generation: u32,
    pub(crate) partition: TopicPartition,
    pub(crate) position: Offset,
    /// True if the previously fetched batch ended at the position.
    pub(crate) is_boundary: bool,
}

/// The expected start of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExpectedStart {
    /// The first requested offset.
    pub(crate) position: Offset,
    /// True if the previous batch ended at the position, so that no batch may begin earlier.
    pub(crate) is_boundary: bool,
}

impl Source {
    /// The expected start of its records.
    pub(crate) fn place(&self) -> ExpectedStart {
        ExpectedStart { position: self.position, is_boundary: self.is_boundary }
    }

    /// The error for a position outside a log of this range.
    pub(crate) fn out_of_range(&self, (earliest, latest): (Offset, Offset)) -> ClientError {
        let (partition, requested) = (self.partition.clone(), self.position);
        ClientError::OffsetOutOfRange { partition, requested, earliest, latest }
    }

    /// The error for damaged records at this position.
    pub(crate) fn damaged(&self, damage: impl Into<Damage>) -> ClientError {
        let source = Arc::new(damage.into());
        ClientError::Damaged { partition: self.partition.clone(), offset: self.position, source }
    }
}

impl Chunk {
    /// Batches in `records`, read from the source's position.
    pub(crate) fn new(source: Source, records: Bytes, check_crcs: bool) -> Self {
        Self {
            slot: source.slot,
            generation: source.generation,
            partition: source.partition,
            size: records.len(),
            rest: records,
            open: None,
            position: source.position,
            check_crcs,
        }
    }

    /// The size of the batches as they were fetched, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The offset from which the next message is read.
    pub(crate) fn position(&self) -> Offset {
        self.position
    }

    /// Returns the next message below `limit`, or `None` if none is left. The position is then the
    /// chunk's end, or `limit` if that comes first.
    pub(crate) fn next_below(
        &mut self,
        limit: Option<Offset>,
        decompressor: &mut Decompressor,
    ) -> Option<Result<Message, ClientError>> {
        self.advance(limit, decompressor).map_err(|source| self.damaged(source)).transpose()
    }

    /// Passes records below `limit` to the sink until it is full. Returns true if it is full and
    /// more records may follow, false if none is left below `limit`. The position is then as
    /// [`next_below`](Self::next_below) leaves it.
    pub(crate) fn read_into(
        &mut self,
        limit: Option<Offset>,
        decompressor: &mut Decompressor,
        sink: &mut impl Sink,
    ) -> Result<bool, ClientError> {
        while !sink.is_full() {
            let has_more = self.advance_into(limit, decompressor, sink);
            if !has_more.map_err(|source| self.damaged(source))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn advance_into(
        &mut self,
        limit: Option<Offset>,
        decompressor: &mut Decompressor,
        sink: &mut impl Sink,
    ) -> Result<bool, RecordError> {
        if limit.is_some_and(|limit| self.position >= limit) {
            return Ok(false);
        }
        let Some(open) = &mut self.open else { return self.open_next(decompressor) };
        if open.read_into(&mut self.position, limit, sink)? {
            self.position = self.position.max(open.next_offset);
            self.open = None;
        }
        Ok(true)
    }

    fn advance(
        &mut self,
        limit: Option<Offset>,
        decompressor: &mut Decompressor,
    ) -> Result<Option<Message>, RecordError> {
        loop {
            if limit.is_some_and(|limit| self.position >= limit) {
                return Ok(None);
            }
            let Some(open) = &mut self.open else {
                if self.open_next(decompressor)? {
                    continue;
                }
                return Ok(None);
            };
            match open.next_from(self.position, limit)? {
                Step::Message(message) => {
                    self.position = message.offset().next();
                    return Ok(Some(message));
                }
                Step::Limit(limit) => self.position = limit,
                Step::End => {
                    self.position = self.position.max(open.next_offset);
                    self.open = None;
                }
            }
        }
    }

    /// Opens the next batch with records for consumers; false if there is none.
    fn open_next(&mut self, decompressor: &mut Decompressor) -> Result<bool, RecordError> {
        loop {
            let bytes = self.rest.clone();
            let mut batches = Batches::new(&bytes);
            let Some(batch) = batches.next().transpose()? else { return Ok(false) };
            self.rest = bytes.slice(batch.size()..);
            if batch.next_offset() <= self.position {
                continue;
            }
            if self.check_crcs {
                batch.check_checksum()?;
            }
            if batch.is_control() {
                self.position = batch.next_offset();
                continue;
            }
            let records = match batch.decompressed(decompressor)? {
                Cow::Borrowed(_) => bytes.slice(HEADER_SIZE..batch.size()),
                Cow::Owned(unpacked) => unpacked.into(),
            };
            let walk = batch.records(&records, decompressor.limits()).suspend();
            self.open = Some(OpenBatch::new(&batch, walk, self.partition.clone(), records));
            return Ok(true);
        }
    }

    fn damaged(&self, source: RecordError) -> ClientError {
        ClientError::Damaged {
            partition: self.partition.clone(),
            offset: self.position,
            source: Arc::new(source.into()),
        }
    }
}

impl OpenBatch {
    fn new(batch: &Batch<'_>, walk: RecordsAt, partition: TopicPartition, bytes: Bytes) -> Self {
        let timestamp_type = batch.timestamp_type();
        Self {
            origin: Arc::new(Origin { partition, timestamp_type, bytes }),
            walk,
            base_offset: batch.base_offset(),
            next_offset: batch.next_offset(),
            base_timestamp: batch.base_timestamp(),
            max_timestamp: batch.max_timestamp(),
        }
    }

    /// Returns the next record at or beyond `position`. A record at or beyond `limit` is not
    /// consumed.
    fn next_from(&mut self, position: Offset, limit: Option<Offset>) -> Result<Step, RecordError> {
        let mut records = self.walk.resume(&self.origin.bytes);
        loop {
            let Some(record) = records.next().transpose()? else {
                self.walk = records.suspend();
                return Ok(Step::End);
            };
            let offset = self.base_offset.plus(i64::from(record.offset_delta));
            if let Some(limit) = limit.filter(|limit| offset >= *limit) {
                return Ok(Step::Limit(limit));
            }
            if offset >= position {
                let message = self.message(&record, offset);
                self.walk = records.suspend();
                return Ok(Step::Message(message));
            }
        }
    }

    /// Passes the records at or beyond `position` to the sink and advances the position. Returns
    /// true at the end of the batch; otherwise the sink is full, or the position is at the limit.
    fn read_into(
        &mut self,
        position: &mut Offset,
        limit: Option<Offset>,
        sink: &mut impl Sink,
    ) -> Result<bool, RecordError> {
        let Origin { partition, timestamp_type, bytes } = &*self.origin;
        let mut records = self.walk.resume(bytes);
        sink.begin(partition, *timestamp_type);
        let (count, size) = records.left();
        sink.expect(count, size);
        while !sink.is_full() {
            let Some(record) = records.next().transpose()? else { return Ok(true) };
            let offset = self.base_offset.plus(i64::from(record.offset_delta));
            if let Some(limit) = limit.filter(|limit| offset >= *limit) {
                // Leave `walk` unadvanced: a later call with a higher limit must find this record
                // again.
                *position = limit;
                return Ok(false);
            }
            if offset >= *position {
                let timestamp = self.timestamp_of(&record);
                let Record { key, value, headers, .. } = record;
                sink.take(&ReadRecord { offset, timestamp, key, value, headers });
                *position = offset.next();
            }
        }
        self.walk = records.suspend();
        Ok(false)
    }

    fn timestamp_of(&self, record: &Record<'_>) -> Timestamp {
        match self.origin.timestamp_type {
            TimestampType::LogAppendTime => self.max_timestamp,
            TimestampType::CreateTime => {
                let base = self.base_timestamp.millis();
                Timestamp::from_millis(base.wrapping_add(record.timestamp_delta))
            }
        }
    }

    fn message(&self, record: &Record<'_>, offset: Offset) -> Message {
        let bytes = &self.origin.bytes;
        let parts = Parts {
            key: Span::within(bytes, record.key),
            value: Span::within(bytes, record.value),
            headers: Span::within(bytes, Some(record.headers.encoded())),
            header_count: u32::try_from(record.headers.len()).unwrap_or(u32::MAX),
        };
        let timestamp = self.timestamp_of(record);
        Message::new(Arc::clone(&self.origin), parts, offset, timestamp)
    }
}
