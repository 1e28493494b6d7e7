//! A partition: appending, reading, and its offsets.

use std::fmt;
use std::sync::Arc;

use crate::embedded::led::Led;
use crate::embedded::{EmbeddedError, NewRecord, Records, Start, Ticket};
use crate::engine::{EngineHandle, produce_rules};
use crate::record::{
    BatchBuilder, BatchSettings, Compressor, RecordError, Repacker, validate_produced,
};
use crate::replication::{Acks, Partition as LedPartition};
use crate::storage::{Appended, SequenceError};
use crate::types::{Offset, Timestamp, TopicPartition};

/// A partition of a topic. Clones refer to the same partition; several threads may use them.
#[derive(Clone)]
pub struct Partition {
    led: Led,
}

impl Partition {
    pub(super) fn open(
        handle: EngineHandle,
        led: Arc<LedPartition>,
    ) -> Result<Self, EmbeddedError> {
        let led = Led { handle, partition: led };
        if !led.partition.is_open() {
            led.partition.open().map_err(|error| led.refused(error))?;
        }
        Ok(Self { led })
    }

    /// Appends records as one batch: either all of them or none. On return they are written to the
    /// machine's page cache and have their offsets. Readers see them only after a flush, which
    /// happens at once if a [`Ticket`] or a reader waits, and otherwise by `flush.ms`.
    ///
    /// Blocks while more than `unflushed.max.bytes` wait for the disk.
    ///
    /// ```
    /// use streamlog::embedded::{Header, Logs, NewRecord};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let logs = Logs::open(dir.path().join("data"))?;
    /// # logs.ensure_topic("orders", 1, &[])?;
    /// let orders = logs.partition("orders", 0)?;
    /// orders.append(["one value"])?;
    /// orders.append([("key", "value"), ("other", "value")])?;
    /// let trace = [Header { key: b"trace", value: Some(b"ab12") }];
    /// let ticket = orders.append([NewRecord { headers: &trace, ..NewRecord::from("traced") }])?;
    /// assert_eq!(ticket.base_offset().get(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `NoRecords`; `Internal` if the topic is internal; `Refused` if a setting of the topic is
    /// violated; `Partition` if the topic is deleted, the disk full, or the directory closed;
    /// `Failed` if the engine has stopped.
    pub fn append<'a, R: Into<NewRecord<'a>>>(
        &self,
        records: impl IntoIterator<Item = R>,
    ) -> Result<Ticket, EmbeddedError> {
        if self.id().topic.is_internal() {
            return Err(EmbeddedError::Internal { topic: self.id().topic.to_string() });
        }
        let now = self.led.handle.clock().now();
        let batch = self.batch(records.into_iter().map(Into::into), now)?;
        let mut batch = self.checked(batch, now).map_err(|error| self.rejected(error))?;
        self.led.handle.wait_for_budget();
        if !self.led.partition.is_appendable() {
            self.led.partition.lead().map_err(|error| self.led.refused(error))?;
        }
        let partition = &self.led.partition;
        let batch = &mut [batch.as_mut_slice()];
        let outcomes = partition.append(partition.epoch(), batch, Acks::None, now);
        let outcomes = outcomes.map_err(|error| self.led.refused(error))?;
        Ok(Ticket::new(self.led.clone(), appended(&outcomes)))
    }

    /// Checks the batch against the topic's settings, and converts it to the form to be stored.
    fn checked(&self, batch: Vec<u8>, now: Timestamp) -> Result<Vec<u8>, RecordError> {
        let rules = produce_rules(&self.led.partition.config(), now);
        let checked = validate_produced(&batch, &rules)?;
        match checked.repack {
            Some((packing, records)) => {
                Repacker::default().repack(&checked.batch, &records, packing, rules.batch_bytes_max)
            }
            None => Ok(batch),
        }
    }

    /// Reads the flushed records from `start` up to the current end, in order; use
    /// [`Records::follow`] to continue beyond it.
    ///
    /// # Errors
    /// If the offset is outside the log, or the time cannot be looked up.
    pub fn read(&self, start: Start) -> Result<Records, EmbeddedError> {
        Records::new(self.led.clone(), self.led.position(start)?)
    }

    /// Returns the offset of the first flushed record whose timestamp is `time` or later.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn first_at(&self, time: Timestamp) -> Result<Option<Offset>, EmbeddedError> {
        self.led.first_at(time)
    }

    /// The first offset of the log; retention raises it.
    pub fn log_start_offset(&self) -> Offset {
        self.led.partition.log_start_offset()
    }

    /// The first offset not yet visible to readers. All records below it are on disk.
    pub fn high_watermark(&self) -> Offset {
        self.led.partition.high_watermark()
    }

    /// Its topic and index.
    pub fn id(&self) -> &TopicPartition {
        self.led.id()
    }

    fn rejected(&self, source: RecordError) -> EmbeddedError {
        EmbeddedError::Refused { partition: self.id().clone(), source }
    }

    fn batch<'a>(
        &self,
        records: impl Iterator<Item = NewRecord<'a>>,
        now: Timestamp,
    ) -> Result<Vec<u8>, EmbeddedError> {
        let mut builder = BatchBuilder::new();
        for NewRecord { key, value, headers, timestamp } in records {
            let pushed = builder.push(timestamp.unwrap_or(now), key, value, headers);
            pushed.map_err(|error| self.rejected(error))?;
        }
        if builder.is_empty() {
            return Err(EmbeddedError::NoRecords);
        }
        let built = builder.build(&BatchSettings::default(), &mut Compressor::none());
        built.map_err(|error| self.rejected(error))
    }
}

/// The result for a single batch without sequence numbers, which is always appended.
fn appended(outcomes: &[Result<Appended, SequenceError>]) -> Appended {
    let [Ok(appended)] = outcomes else {
        panic!("one batch without a sequence had the outcomes {outcomes:?}");
    };
    *appended
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Partition({})", self.id())
    }
}
