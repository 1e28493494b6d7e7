//! Rows that are being filled: a sink that appends each record to the columns that are wanted.
//!
//! What all records of a log's batch have in common, its topic, partition and kind of time, is
//! appended when the batch is over, for all of its records together.

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

/// When rows are enough for a batch. There is always at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsMax {
    /// So many rows.
    pub rows: usize,
    /// So many bytes in keys, values and headers, as far as they are columns; the last record may
    /// go beyond.
    pub bytes: ByteSize,
}

/// There is room made for so many times what a log's batch has: more like it will follow.
const MORE: usize = 4;

/// Rows that are being filled.
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

/// Records with a topic, a partition and a kind of time in common.
#[derive(Debug)]
struct Run {
    partition: TopicPartition,
    timestamp_type: TimestampType,
    /// Rows before it.
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
    /// The most rows; with the longest of topic names they fit into one column.
    const ROWS: usize = 1 << 20;
    /// The most bytes; a record more, which came in a frame of the client's, still fits.
    const BYTES: u64 = 1 << 30;

    /// Fails if there is no room for a row, or for more than a batch can have.
    ///
    /// # Errors
    /// Every limit that does not fit.
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
    /// No rows yet, with these columns in this order, each at most once.
    ///
    /// # Panics
    /// If the limits do not [fit](RowsMax::check).
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

    /// Each column is to grow once, not by doubling, which would copy all of it again.
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
            // The last record may go beyond the limit.
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

    /// A time that is none, or too far away for microseconds, is null.
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

/// Kafka's number for it.
fn number(timestamp_type: TimestampType) -> i32 {
    match timestamp_type {
        TimestampType::CreateTime => 0,
        TimestampType::LogAppendTime => 1,
    }
}
