//! Chunks return every record at or beyond the position once, whatever the gaps.

use std::sync::Arc;

use bytes::Bytes;

use super::chunk::{Chunk, Source};
use crate::client::ClientError;
use crate::client::consumer::message::Message;
use crate::client::consumer::sink::{ReadRecord, Sink};
use crate::record::{
    BatchBuilder, BatchSettings, Compression, Compressor, Decompressor, Header, HeaderMut,
    TimestampType,
};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicPartition};

/// A batch of `count` records from offset `base`, as in a log, with `delta` as its last offset
/// delta.
fn batch(base: i64, count: i64, delta: i32, compression: Compression) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for number in base..base + count {
        let value = number.to_string();
        let headers = [Header { key: b"h", value: Some(b"1") }, Header { key: b"n", value: None }];
        let time = Timestamp::from_millis(1_000 + number);
        builder.push(time, Some(b"k"), Some(value.as_bytes()), &headers).unwrap();
    }
    let mut compressor = Compressor::new(compression, None).unwrap();
    let mut bytes = builder.build(&BatchSettings::default(), &mut compressor).unwrap();
    let mut header = HeaderMut::of_batch(&mut bytes).unwrap();
    header.set_base_offset(Offset::new(base));
    header.set_last_offset_delta(delta);
    bytes
}

fn chunk(position: i64, records: Vec<u8>) -> Chunk {
    let partition = TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(3) };
    let position = Offset::new(position);
    let source = Source { slot: 0, generation: 0, partition, position, is_boundary: false };
    Chunk::new(source, Bytes::from(records), true)
}

fn offsets(chunk: &mut Chunk, limit: Option<i64>) -> Vec<i64> {
    let limit = limit.map(Offset::new);
    let mut decompressor = Decompressor::default();
    std::iter::from_fn(|| chunk.next_below(limit, &mut decompressor))
        .map(|message| {
            let message = message.unwrap();
            let number = message.offset().get();
            assert_eq!(message.value(), Some(number.to_string().as_bytes()));
            number
        })
        .collect()
}

#[test]
fn records_before_the_position_are_skipped() {
    for compression in Compression::ALL {
        let bytes = [batch(10, 5, 4, compression), batch(15, 5, 4, compression)].concat();
        for position in 8..20 {
            let mut chunk = chunk(position, bytes.clone());
            assert!(offsets(&mut chunk, None).into_iter().eq(position.max(10)..20));
            assert_eq!(chunk.position(), Offset::new(20));
        }
    }
}

#[test]
fn the_position_after_a_gap_is_the_end_of_the_batch() {
    let wide = batch(10, 2, 99, Compression::None);
    let bytes = [wide, batch(500, 1, 0, Compression::Zstd)].concat();
    let mut first = chunk(50, bytes.clone());
    assert_eq!(offsets(&mut first, None), [500]);
    assert_eq!(first.position(), Offset::new(501));
    let mut second = chunk(0, bytes[..bytes.len() - 1].to_vec());
    assert_eq!(offsets(&mut second, None), [10, 11]);
    assert_eq!(second.position(), Offset::new(110), "a truncated batch is ignored");
}

#[test]
fn records_beyond_a_limit_are_kept_for_later() {
    let bytes = [batch(0, 5, 4, Compression::Lz4), batch(100, 5, 4, Compression::None)].concat();
    let mut chunk = chunk(0, bytes);
    assert_eq!(offsets(&mut chunk, Some(3)), [0, 1, 2]);
    assert_eq!(chunk.position(), Offset::new(3));
    assert_eq!(offsets(&mut chunk, Some(50)), [3, 4]);
    assert_eq!(chunk.position(), Offset::new(50));
    assert_eq!(offsets(&mut chunk, None), [100, 101, 102, 103, 104]);
}

#[test]
fn a_message_has_all_parts_of_its_record_and_a_detached_copy_keeps_them() {
    let mut chunk = chunk(7, batch(7, 1, 0, Compression::Gzip));
    let message = chunk.next_below(None, &mut Decompressor::default()).unwrap().unwrap();
    let check = |message: &Message| {
        assert_eq!(message.topic_partition().to_string(), "t-3");
        assert_eq!(message.timestamp(), Timestamp::from_millis(1_007));
        assert_eq!(message.key(), Some(&b"k"[..]));
        let headers: Vec<_> = message.headers().map(|h| (h.key, h.value)).collect();
        assert_eq!(headers, [(&b"h"[..], Some(&b"1"[..])), (&b"n"[..], None)]);
    };
    check(&message);
    check(&message.detached());
}

#[test]
fn damage_is_reported_with_its_offset() {
    let mut bytes = [batch(0, 2, 1, Compression::None), batch(2, 2, 1, Compression::None)].concat();
    *bytes.last_mut().unwrap() ^= 1;
    let mut chunk = chunk(0, bytes);
    let mut decompressor = Decompressor::default();
    assert!(chunk.next_below(None, &mut decompressor).unwrap().is_ok());
    assert!(chunk.next_below(None, &mut decompressor).unwrap().is_ok());
    let error = chunk.next_below(None, &mut decompressor).unwrap().unwrap_err();
    let ClientError::Damaged { offset, source, .. } = error else { panic!("{error}") };
    assert_eq!(offset, Offset::new(2));
    assert_eq!(Arc::strong_count(&source), 1);
}

/// A sink that collects up to `capacity` records.
#[derive(Debug)]
struct Given {
    capacity: usize,
    partition: Option<TopicPartition>,
    rows: Vec<(i64, i64, Vec<u8>)>,
}

impl Sink for Given {
    fn begin(&mut self, partition: &TopicPartition, timestamp_type: TimestampType) {
        assert_eq!(timestamp_type, TimestampType::CreateTime);
        self.partition = Some(partition.clone());
    }

    fn take(&mut self, record: &ReadRecord<'_>) {
        assert!(!self.is_full() && self.partition.is_some());
        assert_eq!((record.key, record.headers.len()), (Some(&b"k"[..]), 2));
        let value = record.value.unwrap().to_vec();
        self.rows.push((record.offset.get(), record.timestamp.millis(), value));
    }

    fn count(&self) -> usize {
        self.rows.len()
    }

    fn is_full(&self) -> bool {
        self.count() >= self.capacity
    }
}

#[test]
fn a_sink_receives_the_same_records_as_messages_in_pieces_of_any_size() {
    for compression in Compression::ALL {
        let bytes = [batch(10, 5, 9, compression), batch(20, 5, 4, compression)].concat();
        for (position, limit) in [(0, None), (12, Some(22)), (16, None), (10, Some(17))] {
            let limit = limit.map(Offset::new);
            let mut decompressor = Decompressor::default();
            let mut by_message = chunk(position, bytes.clone());
            let messages: Vec<_> = std::iter::from_fn(|| {
                let message = by_message.next_below(limit, &mut decompressor)?.unwrap();
                let value = message.value().unwrap().to_vec();
                Some((message.offset().get(), message.timestamp().millis(), value))
            })
            .collect();
            for capacity in 1..12 {
                let mut chunk = chunk(position, bytes.clone());
                let mut rows = Vec::new();
                let mut has_more = true;
                while has_more {
                    let mut sink = Given { capacity, partition: None, rows: Vec::new() };
                    has_more = chunk.read_into(limit, &mut decompressor, &mut sink).unwrap();
                    assert_eq!(has_more, sink.is_full());
                    rows.append(&mut sink.rows);
                }
                assert_eq!(rows, messages);
                assert_eq!(chunk.position(), by_message.position());
            }
        }
    }
}

#[test]
fn a_sink_keeps_records_that_precede_damage() {
    let mut bytes = [batch(0, 2, 1, Compression::None), batch(2, 2, 1, Compression::None)].concat();
    *bytes.last_mut().unwrap() ^= 1;
    let mut chunk = chunk(0, bytes);
    let mut sink = Given { capacity: 10, partition: None, rows: Vec::new() };
    let error = chunk.read_into(None, &mut Decompressor::default(), &mut sink).unwrap_err();
    assert!(matches!(error, ClientError::Damaged { offset, .. } if offset == Offset::new(2)));
    assert_eq!((sink.count(), chunk.position()), (2, Offset::new(2)));
}
