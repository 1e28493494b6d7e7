//! Tests of the fetch task.

use std::sync::Arc;
use std::time::Duration;

use super::fetcher::Fetcher;
use super::request::PartitionData;
use crate::client::background::Background;
use crate::client::cluster::Brokers;
use crate::client::consumer::ConsumerConfig;
use crate::client::consumer::config::Start;
use crate::client::consumer::shared::{Shared, Wanted};
use crate::client::{ClientConfig, ClientError, Message};
use crate::config::ByteSize;
use crate::io::ManualClock;
use crate::record::{BatchBuilder, BatchSettings, Compressor};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicPartition};

/// A batch of two records.
fn batch(base_offset: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for _ in 0..2 {
        builder.push(Timestamp::from_millis(0), None, Some(b"v"), &[]).unwrap();
    }
    let mut batch = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
    batch[..8].copy_from_slice(&base_offset.to_be_bytes());
    batch
}

/// The same batch with a changed value in its last record, so that its checksum is wrong.
fn rotten(base_offset: i64) -> Vec<u8> {
    let mut batch = batch(base_offset);
    *batch.iter_mut().rev().nth(1).unwrap() ^= 1;
    batch
}

/// Batches as in a fetch response.
fn data_of(batches: &[Vec<u8>]) -> PartitionData {
    let high_watermark = Some(Offset::new(100));
    PartitionData { records: batches.concat().into(), high_watermark, is_dry: false }
}

/// Two records as in a fetch response.
fn data() -> PartitionData {
    data_of(&[batch(0)])
}

/// A consumer of one partition from its start, with buffer space for one chunk, and its fetcher.
fn reading(background: &Background) -> (Arc<Shared>, Fetcher) {
    let clock = Arc::new(ManualClock::default());
    let brokers = Brokers::new(ClientConfig::default(), clock, background.tasks().clone());
    let config = ConsumerConfig { buffer: ByteSize(1), ..ConsumerConfig::default() };
    let shared = Arc::new(Shared::new(Arc::new(brokers), config, false));
    let partition = TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) };
    shared.assign(vec![(partition, Start::Offset(Offset::ZERO))]);
    (Arc::clone(&shared), Fetcher::new(shared))
}

fn next(shared: &Shared) -> Option<Message> {
    shared.try_next(Wanted::ANY).unwrap()
}

fn has_space(shared: &Shared) -> bool {
    shared.streams_with_space(&shared.slots())[0]
}

#[test]
fn records_that_arrive_after_a_seek_take_no_buffer_space() {
    let background = Background::start().unwrap();
    let (shared, mut fetcher) = reading(&background);
    let source = shared.slots()[0].source(0, Offset::ZERO);
    fetcher.deliver(source.clone(), &data(), Duration::ZERO);
    assert!(!has_space(&shared));
    shared.seek(0, Start::Offset(Offset::new(1)));
    assert!(has_space(&shared));
    fetcher.deliver(source, &data(), Duration::ZERO);
    assert!(next(&shared).is_none());
    assert!(has_space(&shared), "the stale records are dropped");
}

#[test]
fn records_put_back_during_a_seek_take_no_buffer_space() {
    let background = Background::start().unwrap();
    let (shared, mut fetcher) = reading(&background);
    fetcher.deliver(shared.slots()[0].source(0, Offset::ZERO), &data(), Duration::ZERO);
    assert!(next(&shared).is_some());
    // Seek in the assignment alone: the reader still has its chunk, as while a seek is running.
    shared.assignment.seek(0, Start::Offset(Offset::ZERO));
    shared.set_paused(0, true);
    shared.set_paused(0, false);
    assert!(next(&shared).is_none());
    assert!(has_space(&shared), "the stale records are dropped");
}

#[test]
fn after_damage_found_by_a_caller_nothing_is_returned_until_intact_records_arrive() {
    let background = Background::start().unwrap();
    let (shared, mut fetcher) = reading(&background);
    let source = |at| shared.slots()[0].source(0, Offset::new(at));
    let now = Duration::ZERO;
    fetcher.deliver(source(0), &data_of(&[batch(0), rotten(2), batch(4)]), now);
    // Records fetched ahead.
    fetcher.deliver(source(6), &data_of(&[batch(6)]), now);
    let late = source(8);
    assert_eq!(next(&shared).unwrap().offset().get(), 0);
    assert_eq!(next(&shared).unwrap().offset().get(), 1);
    let error = shared.try_next(Wanted::ANY).unwrap_err();
    assert!(matches!(error, ClientError::Damaged { offset, .. } if offset == Offset::new(2)));
    assert!(next(&shared).is_none(), "the records at 4 and 5 would be missed");
    fetcher.deliver(late, &data_of(&[batch(8)]), now);
    assert!(next(&shared).is_none());
    assert_eq!(shared.received()[0].1, Offset::new(2));
    for _ in 0..2 {
        fetcher.deliver(source(2), &data_of(&[rotten(2), batch(4)]), now);
        assert!(next(&shared).is_none(), "the error is returned once");
    }
    fetcher.deliver(source(2), &data_of(&[batch(2), batch(4)]), now);
    let offsets = || next(&shared).map(|message| message.offset().get());
    assert_eq!(std::iter::from_fn(offsets).collect::<Vec<_>>(), [2, 3, 4, 5]);
}

#[test]
fn batches_out_of_order_are_fetched_again_and_reported_once() {
    let background = Background::start().unwrap();
    let (shared, mut fetcher) = reading(&background);
    let source = |at| shared.slots()[0].source(0, Offset::new(at));
    let mut cut = batch(0);
    cut.truncate(70);
    for is_first in [true, false] {
        fetcher.deliver(source(0), &data_of(&[cut.clone()]), Duration::ZERO);
        let told = matches!(shared.try_next(Wanted::ANY), Err(ClientError::Damaged { .. }));
        assert_eq!(told, is_first);
    }
    fetcher.deliver(source(0), &data(), Duration::ZERO);
    assert_eq!(next(&shared).unwrap().offset(), Offset::ZERO);
}
