//! Rows under construction: a sink that appends each record to the selected columns.
//!
//! Topic, partition and timestamp type are the same for all records of a log batch, so they are
//! appended for all of them together at the end of the batch.

use arrow_buffer::{Buffer, NullBufferBuilder};
use arrow_data::ArrayData;

use super::batch::{RecordBatch, built};
use super::bytes::BytesColumn;
use super::column::Column;
use super::headers::HeadersColumn;
use crate::client::{ReadRecord, Sink};
use crate::config::{ByteSize, ConfigError, Fault};
use crate::record::TimestampType;
use crate::types::{Timestamp, TopicPartition};

/// The limits at which a batch of rows is full. A batch always holds at least one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsMax {
    /// Maximum number of rows.
    pub rows: usize,
    /// Maximum size of the selected keys, values and headers; the last record may exceed it.
    pub bytes: ByteSize,
}

/// The number of log batches for which columns reserve memory at a time: similar batches usually
/// follow.
const MORE: usize = 4;

/// Rows under construction.
#[derive(Debug)]
pub struct Rows {
    order: Vec<Column>,
    max: RowsMax,
    count: usize,
    bytes: usize,
    run: Option<Run>,
    topics: Option<BytesColumn>,
    partitions: Option<Vec<i32>>,
    offsets: Option<Vec<i64>>,
    times: Option<Times>,
    timestamp_types: Option<Vec<i32>>,
    keys: Option<BytesColumn>,
    values: Option<BytesColumn>,
    headers: Option<HeadersColumn>,
}

/// Consecutive records with the same topic, partition and timestamp type.
#[derive(Debug)]
struct Run {
    partition: TopicPartition,
    timestamp_type: TimestampType,
    /// The number of rows before the run.
    from: usize,
}

#[derive(Debug)]
struct Times {
    micros: Vec<i64>,
    nulls: NullBufferBuilder,
}

impl Default for RowsMax {
    fn default() -> Self {
        Self { rows: 1 << 16, bytes: ByteSize(4 << 20) }
    }
}

impl RowsMax {
    /// The highest row limit: even with the longest topic names, 32-bit column offsets suffice.
    const ROWS: usize = 1 << 20;
    /// The highest byte limit: with one more record, bounded by the client's frame size, 32-bit
    /// column offsets still suffice.
    const BYTES: u64 = 1 << 30;

    /// Fails if a limit is zero or beyond what a batch can hold.
    ///
    /// # Errors
    /// A fault for every limit that is out of bounds.
    pub fn check(self) -> Result<(), ConfigError> {
        let mut faults = Vec::new();
        if !(1..=Self::ROWS).contains(&self.rows) {
            let expected = format!("1 to {}", Self::ROWS);
            faults.push(Fault::invalid("max_rows", &self.rows.to_string(), expected));
        }
        if !(1..=Self::BYTES).contains(&self.bytes.0) {
            let expected = format!("1 to {}", ByteSize(Self::BYTES));
            faults.push(Fault::invalid("max_bytes", &self.bytes.to_string(), expected));
        }
        ConfigError::from_faults(faults)
    }
}

impl Rows {
    /// Empty rows with these columns, in this order. Each column may occur once.
    ///
    /// # Panics
    /// If the limits are [out of bounds](RowsMax::check).
    pub fn new(columns: &[Column], max: RowsMax) -> Self {
        assert!(max.check().is_ok(), "limits that do not fit: {max:?}");
        let has = |column| columns.contains(&column);
        Self {
            order: columns.to_vec(),
            max,
            count: 0,
            bytes: 0,
            run: None,
            topics: has(Column::Topic).then(BytesColumn::new),
            partitions: has(Column::Partition).then(Vec::new),
            offsets: has(Column::Offset).then(Vec::new),
            times: has(Column::Timestamp).then(Times::new),
            timestamp_types: has(Column::TimestampType).then(Vec::new),
            keys: has(Column::Key).then(BytesColumn::new),
            values: has(Column::Value).then(BytesColumn::new),
            headers: has(Column::Headers).then(HeadersColumn::new),
        }
    }

    /// The rows as a batch.
    pub fn finish(mut self) -> RecordBatch {
        self.end_run();
        let mut batch = ArrayData::builder(Column::row(&self.order)).len(self.count);
        for column in std::mem::take(&mut self.order) {
            let array = self.finish_column(column);
            let array = array.unwrap_or_else(|| unreachable!("{column:?} is a column once"));
            batch = batch.add_child_data(array);
        }
        RecordBatch::new(built(batch))
    }

    fn finish_column(&mut self, column: Column) -> Option<ArrayData> {
        let data_type = column.data_type();
        let numbers = |buffer: Buffer| {
            built(ArrayData::builder(data_type.clone()).len(self.count).add_buffer(buffer))
        };
        match column {
            Column::Topic => self.topics.take().map(|topics| topics.finish(data_type)),
            Column::Partition => self.partitions.take().map(Buffer::from_vec).map(numbers),
            Column::Offset => self.offsets.take().map(Buffer::from_vec).map(numbers),
            Column::Timestamp => self.times.take().map(Times::finish),
            Column::TimestampType => self.timestamp_types.take().map(Buffer::from_vec).map(numbers),
            Column::Key => self.keys.take().map(|keys| keys.finish(data_type)),
            Column::Value => self.values.take().map(|values| values.finish(data_type)),
            Column::Headers => self.headers.take().map(HeadersColumn::finish),
        }
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let rows = self.count;
        if let Some(topics) = &mut self.topics {
            let topic = run.partition.topic.as_str().as_bytes();
            topics.push_often(topic, rows.saturating_sub(run.from));
        }
        if let Some(partitions) = &mut self.partitions {
            partitions.resize(rows, run.partition.partition.0);
        }
        if let Some(types) = &mut self.timestamp_types {
            types.resize(rows, number(run.timestamp_type));
        }
    }
}

impl Sink for Rows {
    fn begin(&mut self, partition: &TopicPartition, timestamp_type: TimestampType) {
        let goes_on = self
            .run
            .as_ref()
            .is_some_and(|run| run.timestamp_type == timestamp_type && run.partition == *partition);
        if !goes_on {
            self.end_run();
            let partition = partition.clone();
            self.run = Some(Run { partition, timestamp_type, from: self.count });
        }
    }

    /// Reserves memory once per column: growth by doubling would copy everything again.
    fn expect(&mut self, records: usize, bytes: usize) {
        let mean = bytes.checked_div(records).unwrap_or_default();
        let rows = records.saturating_mul(MORE).min(self.max.rows.saturating_sub(self.count));
        let room = usize::try_from(self.max.bytes.0).unwrap_or(usize::MAX);
        let room = room.saturating_sub(self.bytes);
        if let Some(offsets) = &mut self.offsets {
            offsets.reserve(rows);
        }
        if let Some(times) = &mut self.times {
            times.micros.reserve(rows);
        }
        if let Some(keys) = &mut self.keys {
            keys.reserve(rows, 0);
        }
        if let Some(values) = &mut self.values {
            // The last record may exceed the limit.
            values.reserve(rows, bytes.saturating_mul(MORE).min(room).saturating_add(mean));
        }
        if let Some(headers) = &mut self.headers {
            headers.reserve(rows);
        }
    }

    fn take(&mut self, record: &ReadRecord<'_>) {
        self.count += 1;
        if let Some(offsets) = &mut self.offsets {
            offsets.push(record.offset.get());
        }
        if let Some(times) = &mut self.times {
            times.push(record.timestamp);
        }
        if let Some(keys) = &mut self.keys {
            keys.push(record.key);
            self.bytes += record.key.map_or(0, <[u8]>::len);
        }
        if let Some(values) = &mut self.values {
            values.push(record.value);
            self.bytes += record.value.map_or(0, <[u8]>::len);
        }
        if let Some(headers) = &mut self.headers {
            headers.push(&record.headers);
            self.bytes += record.headers.encoded().len();
        }
    }

    fn count(&self) -> usize {
        self.count
    }

    fn is_full(&self) -> bool {
        self.count >= self.max.rows || self.bytes as u64 >= self.max.bytes.0
    }
}

impl Times {
    fn new() -> Self {
        Self { micros: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }

    /// Appends a timestamp. A missing one, or one that overflows microseconds, becomes null.
    #[inline]
    fn push(&mut self, timestamp: Timestamp) {
        let known = (timestamp != Timestamp::NONE).then_some(timestamp.millis());
        let micros = known.and_then(|millis| millis.checked_mul(1_000));
        self.nulls.append(micros.is_some());
        self.micros.push(micros.unwrap_or_default());
    }

    fn finish(mut self) -> ArrayData {
        let array = ArrayData::builder(Column::Timestamp.data_type())
            .len(self.micros.len())
            .nulls(self.nulls.finish())
            .add_buffer(Buffer::from_vec(self.micros));
        built(array)
    }
}

/// Kafka's number of the timestamp type.
fn number(timestamp_type: TimestampType) -> i32 {
    match timestamp_type {
        TimestampType::CreateTime => 0,
        TimestampType::LogAppendTime => 1,
    }
}
