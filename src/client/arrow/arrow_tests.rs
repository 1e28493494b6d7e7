//! Columns hold the values of the records, and the limits are enforced.

use arrow_data::ArrayData;
use arrow_schema::ffi::FFI_ArrowSchema;

use super::{Column, RecordBatch, Rows, RowsMax};
use crate::client::{ReadRecord, Sink};
use crate::config::ByteSize;
use crate::record::{
    Batch, BatchBuilder, BatchSettings, Compression, Compressor, Decompressor, Header, Headers,
    TimestampType,
};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicPartition};

fn partition(topic: &str, index: i32) -> TopicPartition {
    TopicPartition { topic: topic.parse().unwrap(), partition: PartitionIndex(index) }
}

/// A record without headers whose timestamp equals its offset.
fn record<'a>(offset: i64, key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> ReadRecord<'a> {
    let timestamp = Timestamp::from_millis(offset);
    ReadRecord { offset: Offset::new(offset), timestamp, key, value, headers: Headers::NONE }
}

fn rows(columns: &[Column]) -> Rows {
    let mut rows = Rows::new(columns, RowsMax::default());
    rows.begin(&partition("t", 0), TimestampType::CreateTime);
    rows
}

/// A column of the batch.
fn column(batch: &RecordBatch, place: usize) -> &ArrayData {
    &batch.data().child_data()[place]
}

fn bytes(array: &ArrayData) -> Vec<Option<Vec<u8>>> {
    let (ends, bytes) = (array.buffer::<i32>(0), array.buffers()[1].as_slice());
    let end = |row: usize| usize::try_from(ends[row]).unwrap();
    let value = |row: usize| array.is_valid(row).then(|| bytes[end(row)..end(row + 1)].to_vec());
    (0..array.len()).map(value).collect()
}

fn numbers(array: &ArrayData) -> Vec<Option<i64>> {
    let value = |row| array.is_valid(row).then(|| array.buffer::<i64>(0)[row]);
    (0..array.len()).map(value).collect()
}

#[test]
fn keys_and_values_distinguish_null_from_empty() {
    let mut rows = rows(&[Column::Value, Column::Key, Column::Offset]);
    rows.take(&record(3, None, Some(b"")));
    rows.take(&record(5, Some(b""), None));
    rows.take(&record(9, Some(b"key"), Some(b"value")));
    let batch = rows.finish();
    assert_eq!(batch.len(), 3);
    assert_eq!(bytes(column(&batch, 0)), [Some(vec![]), None, Some(b"value".to_vec())]);
    assert_eq!(bytes(column(&batch, 1)), [None, Some(vec![]), Some(b"key".to_vec())]);
    assert_eq!(numbers(column(&batch, 2)), [Some(3), Some(5), Some(9)]);
    batch.data().validate_full().unwrap();
}

#[test]
fn every_row_has_the_topic_partition_and_timestamp_type_of_its_batch() {
    let columns = [Column::Topic, Column::Partition, Column::TimestampType];
    let mut rows = Rows::new(&columns, RowsMax::default());
    let mut expected = Vec::new();
    for (topic, index, timestamp_type, count) in [
        ("orders", 0, TimestampType::CreateTime, 2),
        ("orders", 0, TimestampType::CreateTime, 1),
        ("orders", 7, TimestampType::LogAppendTime, 0),
        ("orders", 7, TimestampType::CreateTime, 1),
        ("refunds", 7, TimestampType::LogAppendTime, 3),
    ] {
        rows.begin(&partition(topic, index), timestamp_type);
        for offset in 0..count {
            rows.take(&record(offset, None, None));
            let is_of_log = timestamp_type == TimestampType::LogAppendTime;
            expected.push((topic.to_owned(), index, i32::from(is_of_log)));
        }
    }
    let batch = rows.finish();
    let topics = bytes(column(&batch, 0)).into_iter().map(|t| String::from_utf8(t.unwrap()));
    let partitions = column(&batch, 1).buffer::<i32>(0);
    let types = column(&batch, 2).buffer::<i32>(0);
    let found: Vec<_> = topics
        .zip(partitions.iter().zip(types))
        .map(|(topic, (index, of_log))| (topic.unwrap(), *index, *of_log))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_timestamp_that_overflows_microseconds_is_null() {
    let mut rows = rows(&[Column::Timestamp]);
    for millis in [0, 1_234, -1, -2, i64::MAX] {
        let timestamp = Timestamp::from_millis(millis);
        rows.take(&ReadRecord { timestamp, ..record(0, None, None) });
    }
    let batch = rows.finish();
    let expected = [Some(0), Some(1_234_000), None, Some(-2_000), None];
    assert_eq!(numbers(column(&batch, 0)), expected);
}

#[test]
fn headers_keep_their_order_and_invalid_utf8_in_names_is_replaced() {
    let mut builder = BatchBuilder::new();
    let header = |key, value| Header { key, value };
    let some = [header(b"a", Some(&b"1"[..])), header(b"a", None), header(b"\xff", Some(b""))];
    for headers in [&some[..], &[], &some[..1]] {
        builder.push(Timestamp::from_millis(0), None, None, headers).unwrap();
    }
    let mut compressor = Compressor::new(Compression::None, None).unwrap();
    let encoded = builder.build(&BatchSettings::default(), &mut compressor).unwrap();
    let batch = Batch::parse(&encoded).unwrap();
    let mut decompressor = Decompressor::default();
    let records = batch.decompressed(&mut decompressor).unwrap();
    let mut rows = rows(&[Column::Headers]);
    for read in batch.records(&records, decompressor.limits()) {
        rows.take(&ReadRecord { headers: read.unwrap().headers, ..record(0, None, None) });
    }
    let batch = rows.finish();
    let lists = column(&batch, 0);
    assert_eq!(lists.buffer::<i32>(0), [0, 3, 3, 4]);
    let pairs = lists.child_data()[0].child_data();
    let text = |text: &str| Some(text.as_bytes().to_vec());
    assert_eq!(bytes(&pairs[0]), [text("a"), text("a"), text("\u{fffd}"), text("a")]);
    assert_eq!(bytes(&pairs[1]), [text("1"), None, text(""), text("1")]);
    batch.data().validate_full().unwrap();
}

#[test]
fn rows_are_full_at_either_limit_of_the_selected_columns() {
    let take = |columns: &[Column], rows, bytes| {
        let mut rows = Rows::new(columns, RowsMax { rows, bytes: ByteSize(bytes) });
        rows.begin(&partition("t", 0), TimestampType::CreateTime);
        while !rows.is_full() && rows.count() < 100 {
            rows.take(&record(0, Some(b"1234"), Some(b"123456")));
        }
        rows.finish().len()
    };
    assert_eq!(take(&Column::ALL, 7, 1 << 20), 7);
    assert_eq!(take(&Column::ALL, 100, 1), 1);
    assert_eq!(take(&Column::ALL, 100, 20), 2);
    assert_eq!(take(&Column::ALL, 100, 21), 3);
    assert_eq!(take(&[Column::Key], 100, 21), 6);
    assert_eq!(take(&[Column::Topic, Column::Offset], 100, 1), 100);
}

#[test]
fn limits_of_zero_or_beyond_the_capacity_of_a_column_are_refused() {
    for (rows, bytes) in [(0, 1), (1, 0), (1 << 21, 1), (1, 2 << 30)] {
        let faults = RowsMax { rows, bytes: ByteSize(bytes) }.check().unwrap_err().faults;
        assert_eq!(faults.len(), 1, "{faults:?}");
    }
    assert!(RowsMax::default().check().is_ok());
    assert!(RowsMax { rows: 1, bytes: ByteSize(1) }.check().is_ok());
}

#[test]
fn columns_keep_the_given_order_and_all_bad_names_are_reported_together() {
    let columns = [Column::Value, Column::TimestampType, Column::Topic];
    assert_eq!(Column::named(&["value", "timestamp_type", "topic"]).unwrap(), columns);
    let error = Column::named(&["vlue", "key", "key", "headers"]).unwrap_err();
    let told: Vec<_> = error.faults.iter().map(|fault| fault.key.as_str()).collect();
    assert_eq!(told, ["columns", "columns"]);
    assert_eq!(error.faults[0].reason, "there is no column 'vlue'; did you mean 'value'?");
    assert_eq!(error.faults[1].reason, "'key' is named twice");
    let reason = Column::named(&["payload"]).unwrap_err().to_string();
    assert!(reason.contains("the columns are topic, partition, offset,"), "{reason}");
    assert!(Column::named(&[]).is_err());
}

#[test]
fn the_types_match_those_of_spark() {
    let (schema, array) = rows(&Column::ALL).finish().export();
    let of = |schema: &FFI_ArrowSchema| {
        (schema.name().unwrap_or_default().to_owned(), schema.format().to_owned())
    };
    let found: Vec<_> = schema.children().map(of).collect();
    let expected = [
        ("topic", "u"),
        ("partition", "i"),
        ("offset", "l"),
        ("timestamp", "tsu:UTC"),
        ("timestamp_type", "i"),
        ("key", "z"),
        ("value", "z"),
        ("headers", "+l"),
    ];
    assert_eq!(found, expected.map(|(name, format)| (name.to_owned(), format.to_owned())));
    assert!(schema.children().all(FFI_ArrowSchema::nullable));
    assert_eq!((array.len(), array.num_children()), (0, 8));
}
