//! Frames that are begun and not finished: they hold no memory that others need, and not for long.

use std::io::ErrorKind;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Connection, LocalBroker, Witness, batch};

const MIB: i32 = 1 << 20;

/// Records of a batch that makes a large frame.
const MANY: u64 = 30_000;

/// A frame of a MiB of which so many bytes are sent.
fn begin(broker: &LocalBroker, sent: usize) -> Connection {
    let mut connection = broker.connect();
    connection.send_bytes(&MIB.to_be_bytes()).unwrap();
    connection.send_bytes(&vec![0; sent]).unwrap();
    connection
}

/// The time that a large batch of a stranger to all this takes.
fn large_batch(broker: &LocalBroker) -> Duration {
    let begin = Instant::now();
    let answered = broker.connect().produce(batch(0..MANY), 1).unwrap();
    assert!(answered.is_ok(), "{answered:?}");
    begin.elapsed()
}

#[test]
fn large_frames_announced_and_never_sent_hold_nothing_that_others_need() {
    let settings = [("socket.request.max.bytes", "1 MiB"), ("queued.max.request.bytes", "2 MiB")];
    let broker = LocalBroker::new(1, &settings);
    let begun: Vec<Connection> = (0..20).map(|_| begin(&broker, 0)).collect();
    assert!(large_batch(&broker) < Duration::from_secs(10));
    drop(begun);
    broker.stop().unwrap();
}

#[test]
fn half_frames_that_hold_all_memory_give_way_at_their_deadline() {
    let settings = [
        ("socket.request.max.bytes", "1 MiB"),
        ("queued.max.request.bytes", "2 MiB"),
        ("transfer.deadline.ms", "500"),
    ];
    let broker = LocalBroker::new(2, &settings);
    let mut witness = Witness::of(&broker);
    let begun: Vec<Connection> = (0..4).map(|_| begin(&broker, 900_000)).collect();
    witness.sees_no_harm();
    assert!(large_batch(&broker) < Duration::from_secs(10));
    for mut connection in begun {
        assert!(connection.until_closed().unwrap().is_empty());
    }
    broker.stop().unwrap();
}

#[test]
fn a_frame_that_comes_byte_by_byte_is_cut_off_at_its_deadline() {
    let broker = LocalBroker::new(3, &[("transfer.deadline.ms", "500")]);
    let mut connection = begin(&broker, 0);
    let begin = Instant::now();
    let refused = loop {
        if let Err(refused) = connection.send_bytes(&[0]) {
            break refused.kind();
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "it may go on for ever");
        thread::sleep(Duration::from_millis(20));
    };
    assert!(matches!(refused, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{refused:?}");
    assert!(begin.elapsed() >= Duration::from_millis(400));
    broker.stop().unwrap();
}
