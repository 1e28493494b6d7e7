//! Iterating over flushed records, up to the current end or without end.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use crate::embedded::led::Led;
use crate::embedded::{EmbeddedError, Record, Start, parking};
use crate::io::{FileRange, read_exact_at};
use crate::record::{Batch, Batches, Decompressor, HEADER_SIZE, Limits, RecordError};
use crate::replication::{PartitionError, ReadRequest, Reader};
use crate::storage::{LogDamage, OffsetUnit, StorageError};
use crate::types::Offset;

/// The read size in bytes; a larger batch is read whole.
const READ_SIZE: u64 = 256 << 10;

/// The flushed records of a partition from an offset on, each once and in order.
///
/// It ends at the high watermark of its creation, unless it [follows](Self::follow) the log. After
/// an error it returns nothing more, until a [`seek`](Self::seek). The checksum of every batch is
/// verified before its records are returned.
pub struct Records {
    led: Led,
    /// The offset after the last record returned or skipped.
    position: Offset,
    /// True if the previous batch ended at the position, so that the next must begin there.
    is_boundary: bool,
    /// Known gaps in the offsets; read from the log again when they do not explain missing offsets.
    gaps: Vec<Range<Offset>>,
    /// The end offset; `None` for a reader without end.
    end: Option<Offset>,
    /// Batches read and not yet decoded.
    batches: Bytes,
    /// Records decoded and not yet returned.
    ready: VecDeque<Record>,
    decompressor: Decompressor,
    is_over: bool,
}

impl Records {
    pub(super) fn new(led: Led, position: Offset) -> Result<Self, EmbeddedError> {
        let end = Some(led.partition.high_watermark());
        let records = Self {
            led,
            position,
            is_boundary: false,
            gaps: Vec::new(),
            end,
            batches: Bytes::new(),
            ready: VecDeque::new(),
            decompressor: Decompressor::new(Limits::default()),
            is_over: false,
        };
        // Report an offset outside the log here, rather than with the first record.
        records.range(0)?;
        Ok(records)
    }

    /// Continues without end: at the end of the log it waits for more. It ends when the directory
    /// is closed.
    ///
    /// ```
    /// # use streamlog::embedded::{Logs, Start};
    /// # let dir = tempfile::tempdir()?;
    /// # let logs = Logs::open(dir.path().join("data"))?;
    /// # logs.ensure_topic("ticks", 1, &[])?;
    /// let ticks = logs.partition("ticks", 0)?;
    /// let follower = ticks.read(Start::Latest)?.follow();
    /// let counting = std::thread::spawn(move || follower.take(2).count());
    /// ticks.append(["tick", "tock"])?;
    /// assert_eq!(counting.join().unwrap(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn follow(self) -> Self {
        Self { end: None, ..self }
    }

    /// Returns the next record, waiting up to `patience`; `None` if there was none, or at the end.
    /// A zero `patience` returns only records that are available.
    pub fn next_within(&mut self, patience: Duration) -> Option<Result<Record, EmbeddedError>> {
        let clock = self.led.handle.clock();
        let deadline = clock.monotonic().saturating_add(patience);
        self.next_by(Some(deadline))
    }

    /// The offset from which the next record is read.
    pub fn position(&self) -> Offset {
        self.ready.front().map_or(self.position, |record| record.offset)
    }

    /// Moves the position; the end is unchanged.
    ///
    /// # Errors
    /// As [`Partition::read`](crate::embedded::Partition::read).
    pub fn seek(&mut self, start: Start) -> Result<(), EmbeddedError> {
        let Self { position, .. } = Self::new(self.led.clone(), self.led.position(start)?)?;
        (self.position, self.is_boundary, self.is_over) = (position, false, false);
        self.batches.clear();
        self.ready.clear();
        Ok(())
    }

    fn next_by(&mut self, deadline: Option<Duration>) -> Option<Result<Record, EmbeddedError>> {
        if self.is_over {
            return None;
        }
        let next = self.advance(deadline);
        self.is_over = next.is_err();
        next.transpose()
    }

    fn advance(&mut self, deadline: Option<Duration>) -> Result<Option<Record>, EmbeddedError> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Ok(Some(record));
            }
            self.check_order()?;
            if self.open_batch().map_err(|source| self.damaged(source))? {
                continue;
            }
            if self.end.is_some_and(|end| self.position >= end) {
                return Ok(None);
            }
            match self.range(READ_SIZE)? {
                Some(range) => self.batches = self.load(&range)?,
                None if self.end.is_some() => return self.check_withheld().map(|()| None),
                None if !self.wait(deadline)? => return Ok(None),
                None => {}
            }
        }
    }

    /// Fails if the next batch's header has unexpected offsets: the checksum does not cover its
    /// base offset.
    fn check_order(&mut self) -> Result<(), EmbeddedError> {
        let Some(Ok(batch)) = Batches::new(&self.batches).next() else { return Ok(()) };
        let (found, expected) = (batch.base_offset(), self.position);
        let is_next = if found > expected {
            self.may_miss(expected, found)?
        } else {
            batch.next_offset() > expected && (found == expected || !self.is_boundary)
        };
        if is_next {
            return Ok(());
        }
        Err(EmbeddedError::OutOfOrder { partition: self.led.id().clone(), expected, found })
    }

    /// Fails if there should be records up to the end, but none are found.
    fn check_withheld(&mut self) -> Result<(), EmbeddedError> {
        let (expected, found) = (self.position, self.end.unwrap_or(self.position));
        if found <= expected || self.is_closed() || self.may_miss(expected, found)? {
            return Ok(());
        }
        Err(EmbeddedError::OutOfOrder { partition: self.led.id().clone(), expected, found })
    }

    /// Returns true if there may be no records between two offsets.
    fn may_miss(&mut self, from: Offset, to: Offset) -> Result<bool, EmbeddedError> {
        let led = &self.led.partition;
        // With byte offsets, the offsets after the records of a batch belong to no record.
        let is_behind_records = !self.is_boundary && led.config().offset_unit == OffsetUnit::Byte;
        if is_behind_records || covered(&self.gaps, from) >= to {
            return Ok(true);
        }
        let Some(log) = led.log() else { return Ok(false) };
        self.gaps = LogDamage::of(&log).gaps().map_err(|error| self.led.refused(error.into()))?;
        Ok(covered(&self.gaps, from) >= to)
    }

    /// Decodes the next batch; false if there is none.
    fn open_batch(&mut self) -> Result<bool, RecordError> {
        let bytes = self.batches.clone();
        let Some(batch) = Batches::new(&bytes).next().transpose()? else { return Ok(false) };
        batch.check_checksum()?;
        self.batches = bytes.slice(batch.size()..);
        if !batch.is_control() {
            self.take_apart(&batch, &bytes)?;
        }
        self.position = self.position.max(batch.next_offset());
        self.is_boundary = true;
        Ok(true)
    }

    fn take_apart(&mut self, batch: &Batch<'_>, bytes: &Bytes) -> Result<(), RecordError> {
        let payload = match batch.decompressed(&mut self.decompressor)? {
            Cow::Borrowed(_) => bytes.slice(HEADER_SIZE..batch.size()),
            Cow::Owned(unpacked) => unpacked.into(),
        };
        for record in batch.records(&payload, self.decompressor.limits()) {
            let record = Record::new(batch, &record?, &payload);
            if record.offset >= self.position {
                self.ready.push_back(record);
            }
        }
        Ok(())
    }

    /// Returns the file range of batches from the position on; `None` if none are flushed.
    fn range(&self, max_bytes: u64) -> Result<Option<FileRange>, EmbeddedError> {
        let at_least_one_batch = max_bytes > 0;
        let offset = self.position.get();
        let request = ReadRequest {
            reader: Reader::Consumer,
            offset,
            max_bytes,
            at_least_one_batch,
            shows_gap: true,
        };
        let answer = self.led.partition.read(request);
        match answer {
            Ok(answer) => Ok(answer.records),
            Err(PartitionError::Stopped { .. }) if self.end.is_none() && self.is_closed() => {
                Ok(None)
            }
            Err(error) => Err(self.led.refused(error)),
        }
    }

    fn load(&self, range: &FileRange) -> Result<Bytes, EmbeddedError> {
        let mut bytes = vec![0; usize::try_from(range.length).unwrap_or(usize::MAX)];
        read_exact_at(&*range.file, &mut bytes, range.position).map_err(|source| {
            let path = self.led.partition.log().map(|log| log.dir().to_owned());
            let error = StorageError::io("read", &path.unwrap_or_default(), source);
            self.led.refused(error.into())
        })?;
        Ok(bytes.into())
    }

    /// Waits until records beyond the position are flushed; false after the deadline, or when the
    /// directory is closed.
    fn wait(&self, deadline: Option<Duration>) -> Result<bool, EmbeddedError> {
        let handle = &self.led.handle;
        let has_moved = match deadline {
            None => {
                parking::wait(self.moved());
                true
            }
            Some(deadline) => {
                let clock = handle.clock();
                let left = deadline.saturating_sub(clock.monotonic());
                parking::wait_for(self.moved(), left, clock).is_some()
            }
        };
        match handle.failure() {
            Some(reason) => Err(EmbeddedError::Failed { reason }),
            None => Ok(has_moved && !self.is_closed()),
        }
    }

    /// Ready when records beyond the position are flushed, or never will be.
    async fn moved(&self) {
        let (led, stopping) = (&self.led.partition, self.led.handle.stopping());
        let wake = Arc::new(Notify::new());
        // Register before the check, so that a flush between the two is not missed.
        let _place = led.wait_beyond(self.position, &wake);
        if led.high_watermark() > self.position || led.check_running().is_err() {
            return;
        }
        tokio::select! {
            () = wake.notified() => {}
            () = stopping.cancelled() => {}
        }
    }

    /// Returns true if the directory was closed, as opposed to the topic being deleted.
    fn is_closed(&self) -> bool {
        self.led.handle.stopping().is_cancelled()
    }

    fn damaged(&self, source: RecordError) -> EmbeddedError {
        let (partition, offset) = (self.led.id().clone(), self.position);
        EmbeddedError::Damaged { partition, offset, source }
    }
}

/// The end of the contiguous offsets from `from` on that may be missing; `gaps` are sorted by
/// start.
fn covered(gaps: &[Range<Offset>], from: Offset) -> Offset {
    gaps.iter().fold(from, |end, gap| if gap.start <= end { end.max(gap.end) } else { end })
}

impl Iterator for Records {
    type Item = Result<Record, EmbeddedError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_by(None)
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Records({} from {})", self.led.id(), self.position())
    }
}
