//! Properties that halves share with their batch, and the batch size learned from splitting.

use crate::client::producer::delivery::Ticket;
use crate::client::producer::model_broker_tests::{ModelBroker, too_large};
use crate::client::producer::packed::Packed;
use crate::client::producer::queue::Due;
use crate::client::producer::send_queue_tests::World;
use crate::io::SeededRandom;
use crate::record::{Batch, Compression, Compressor, Decompressor, HeaderMut, Limits};

/// The first batch sent for records of these sizes, with timestamps 100 ms apart.
fn sent(sizes: &[usize], compression: Compression) -> Packed {
    let mut world = World::with_sizes(1 << 20, usize::MAX, compression);
    for (time, &size) in (0..).step_by(100).zip(sizes) {
        world.tickets.push(world.callers.append_at(time, &vec![b'x'; size]));
    }
    while world.send() {}
    world.in_flight.pop_front().unwrap()
}

/// Both halves of a batch.
fn halves(mut batch: Packed, compressor: &mut Compressor) -> [Packed; 2] {
    let behind = batch.cut_half(compressor).unwrap();
    [batch, behind]
}

/// The sizes of the values in a batch.
fn sizes(batch: &Packed) -> Vec<usize> {
    let parsed = Batch::parse(&batch.bytes).unwrap();
    parsed.check_checksum().unwrap();
    assert_eq!(parsed.record_count(), batch.numbers.count());
    let payload = parsed.decompressed(&mut Decompressor::default()).unwrap();
    let records = parsed.records(&payload, &Limits::default());
    records.map(|record| record.unwrap().value.unwrap().len()).collect()
}

fn sequences(batch: &Packed) -> (i32, i32) {
    let parsed = Batch::parse(&batch.bytes).unwrap();
    (parsed.producer().unwrap().base_sequence, parsed.last_sequence().unwrap())
}

#[test]
fn halves_have_about_equal_sizes_and_at_least_one_record() {
    let cases: [(&[usize], usize); 5] = [
        (&[10, 10, 10, 10], 2),
        (&[10, 10, 10, 10, 500], 4),
        (&[500, 10, 10, 10], 1),
        (&[10, 10, 500, 10], 2),
        (&[10, 10], 1),
    ];
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        let mut compressor = Compressor::new(compression, None).unwrap();
        for (all, count) in cases {
            let [front, back] = halves(sent(all, compression), &mut compressor);
            assert_eq!(
                (sizes(&front), sizes(&back)),
                (all[..count].to_vec(), all[count..].to_vec())
            );
            assert_eq!((front.numbers.first(), back.numbers.first() as usize), (0, count));
        }
    }
    assert!(sent(&[10], Compression::None).cut_half(&mut Compressor::none()).is_none());
}

#[test]
fn records_keep_their_sequence_numbers_and_windows() {
    let mut batch = sent(&[10; 8], Compression::None);
    let mut bytes = Vec::from(std::mem::take(&mut batch.bytes));
    let mut stamp = Batch::parse(&bytes).unwrap().producer().unwrap();
    stamp.base_sequence = i32::MAX - 2;
    HeaderMut::of_batch(&mut bytes).unwrap().set_producer(stamp);
    batch.bytes = bytes.into();
    let none = &mut Compressor::none();
    let [front, back] = halves(batch, none);
    assert_eq!((sequences(&front), sequences(&back)), ((i32::MAX - 2, 0), (1, 4)));
    let [front, back] = halves(back, none).map(|half| (half.numbers.first(), half));
    assert_eq!((front.0, sequences(&front.1)), (4, (1, 2)));
    assert_eq!((back.0, sequences(&back.1)), (6, (3, 4)));
    assert_eq!(front.1.windows.counts(), [(400, 1), (500, 1)]);
    assert_eq!(back.1.windows.counts(), [(600, 1), (700, 1)]);
}

#[test]
fn after_a_split_new_batches_have_the_size_of_the_accepted_parts() {
    let mut world = World::with_sizes(4_000, 1_000, Compression::None);
    for _ in 0..2 {
        for _ in 0..1_000 {
            world.append();
        }
        world.settle();
        assert!(world.failed().is_empty());
    }
    assert_eq!(world.broker.log.len(), 2_000);
    let refused = world.broker.refused;
    for _ in 0..1_000 {
        world.append();
    }
    world.settle();
    assert_eq!(world.broker.refused, refused, "no batch is too large any more");
}

#[test]
fn a_record_that_is_too_large_alone_does_not_reduce_the_batch_size() {
    let mut world = World::with_sizes(1_000, 500, Compression::None);
    let mut random = SeededRandom::new(0);
    for padding in [0, 600, 0] {
        world.append_padded(padding, &mut random);
    }
    world.settle();
    assert_eq!(world.failed(), [1]);
    for _ in 0..100 {
        world.append();
    }
    let due = world.callers.queue.take_due(&world.callers.dues(0));
    assert!(matches!(due, Due::Batch(batch) if batch.builder.size() > 900));
}

#[test]
fn a_batch_is_settled_when_all_of_its_parts_have_an_outcome() {
    let mut world = World::with_sizes(10_000, usize::MAX, Compression::None);
    for _ in 0..4 {
        world.append();
    }
    while world.send() {}
    world.answer(|_, bytes| Err(too_large(bytes)));
    world.send();
    world.answer(ModelBroker::produce);
    assert!(!world.tickets.iter().any(Ticket::is_done));
    world.settle();
    assert!(world.tickets.iter().all(Ticket::is_done));
    assert_eq!(world.broker.log, [0, 1, 2, 3]);
}

#[test]
fn the_first_hundred_failures_of_a_batch_are_reported_one_by_one() {
    let mut world = World::with_sizes(1 << 20, 300, Compression::None);
    let mut random = SeededRandom::new(0);
    for _ in 0..150 {
        world.append_padded(300, &mut random);
        world.append();
    }
    world.settle();
    assert_eq!(world.broker.log.len(), 150);
    assert_eq!(world.reported(), (100, 150));
    world.callers.undelivered.report().unwrap();
}
