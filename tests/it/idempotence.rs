//! A batch that an idempotent producer sends twice is stored once, whatever happened in between.

use std::thread::yield_now;
use std::time::Duration;

use streamlog::wire::ErrorCode;

use crate::support::{Connection, LocalBroker, Random, seeds, sequenced};

/// Long enough for a broker that breaks its promise to do so.
const LONG: Duration = Duration::from_millis(300);

const ALL: i16 = -1;

/// Sends one number as this producer's record of this sequence.
fn send(
    client: &mut Connection,
    producer: (i64, i16),
    sequence: i32,
    number: u64,
) -> Result<i64, ErrorCode> {
    client.produce(sequenced([number], producer, sequence), ALL).unwrap()
}

#[test]
fn the_last_five_batches_may_be_repeated_and_nothing_may_be_left_out() {
    let broker = LocalBroker::new(1, &[]);
    let mut client = broker.connect();
    for sequence in 0..7 {
        assert_eq!(send(&mut client, (1, 0), sequence, 10), Ok(i64::from(sequence)));
    }
    for sequence in 2..7 {
        assert_eq!(send(&mut client, (1, 0), sequence, 10), Ok(i64::from(sequence)));
    }
    let out_of_order = Err(ErrorCode::OutOfOrderSequenceNumber);
    assert_eq!(send(&mut client, (1, 0), 1, 10), out_of_order, "older than the window");
    assert_eq!(send(&mut client, (1, 0), 8, 10), out_of_order, "one is missing");
    assert_eq!(send(&mut client, (1, 1), 7, 10), out_of_order, "a new epoch begins at zero");
    assert_eq!(send(&mut client, (1, 1), 0, 10), Ok(7));
    let fenced = Err(ErrorCode::InvalidProducerEpoch);
    assert_eq!(send(&mut client, (1, 0), 7, 10), fenced, "the epoch before");
    // An unknown producer may begin at any sequence.
    assert_eq!(send(&mut client, (2, 3), 41, 10), Ok(8));
    assert_eq!(client.read_from(0).unwrap().len(), 9);
    broker.stop().unwrap();
}

#[test]
fn a_repeated_batch_is_answered_when_the_original_is_safe_and_not_before() {
    let broker = LocalBroker::new(2, &[]);
    let (mut first, mut second) = (broker.connect(), broker.connect());
    assert_eq!(send(&mut first, (1, 0), 0, 10), Ok(0));
    let hold = broker.disk.hold_sync();
    first.send_batch(sequenced([11], (1, 0), 1), ALL).unwrap();
    assert!(hold.wait_for(1, Duration::from_secs(10)), "nobody flushes");
    second.send_batch(sequenced([11], (1, 0), 1), ALL).unwrap();
    assert!(second.is_silent_for(LONG), "answered before the flush");
    drop(hold);
    assert_eq!(first.receive_offset().unwrap(), Ok(1));
    assert_eq!(second.receive_offset().unwrap(), Ok(1));
    broker.stop().unwrap();
}

#[test]
fn a_power_cut_makes_no_repeated_batch_a_second_one() {
    for seed in seeds(20) {
        println!("STREAMLOG_SEED={seed}");
        let mut random = Random::new(seed);
        let mut broker = LocalBroker::new(seed, &[]);
        // Sequences begin again at zero behind the largest.
        let mut next = i32::MAX - 5;
        let mut offset = 0;
        for _ in 0..4 {
            let mut client = broker.connect();
            for _ in 0..=random.below(9) {
                assert_eq!(send(&mut client, (7, 0), next, 10), Ok(offset));
                next = next.wrapping_add(1) & i32::MAX;
                offset += 1;
            }
            let disk = if random.below(2) == 0 {
                broker.cut_power(random.number())
            } else {
                broker.stop().unwrap()
            };
            broker = LocalBroker::on(disk, &[]).unwrap();
            let last = next.wrapping_sub(1) & i32::MAX;
            let mut client = broker.connect();
            assert_eq!(send(&mut client, (7, 0), last, 10), Ok(offset - 1), "repeated");
        }
        let stored = broker.connect().read_from(0).unwrap();
        assert_eq!(i64::try_from(stored.len()).unwrap(), offset);
        broker.stop().unwrap();
    }
}

#[test]
fn a_producer_that_was_silent_for_long_is_forgotten() {
    let settings = [("producer.id.expiration.ms", "20"), ("log.retention.check.interval.ms", "10")];
    let broker = LocalBroker::new(3, &settings);
    let mut client = broker.connect();
    assert_eq!(send(&mut client, (1, 0), 0, 10), Ok(0));
    // Only from an unknown producer a batch after a gap is accepted.
    while send(&mut client, (1, 0), 5, 10) == Err(ErrorCode::OutOfOrderSequenceNumber) {
        yield_now();
    }
    assert_eq!(send(&mut client, (1, 0), 6, 10), Ok(2));
    broker.stop().unwrap();
}
