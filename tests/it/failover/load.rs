//! A producer that writes all the time and keeps what was acknowledged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use streamlog::client::{Client, ConsumerConfig, Message, ProducerConfig, ProducerRecord, Ticket};

/// The longest wait for an acknowledgement.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pace of a producer.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// The number of records under way at once.
    at_once: usize,
    /// The pause before the next ones.
    pause: Duration,
}

/// As fast as the cluster takes them.
const FULL: Pace = Pace { at_once: 1000, pause: Duration::ZERO };

/// At most 1,000 records per second, for an hour if need be.
pub(super) const STEADY: Pace = Pace { at_once: 10, pause: Duration::from_millis(10) };

/// The time without an acknowledgement after which the load counts as standing still.
const STANDSTILL: Duration = Duration::from_secs(1);

/// The values of a topic by partition and offset.
pub(super) type Stored = BTreeMap<(i32, i64), u64>;

/// Numbers that are written to a topic with `acks=all`, from 0 on.
pub(super) struct Load {
    progress: Arc<Progress>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Progress {
    is_over: AtomicBool,
    acknowledged: Mutex<Stored>,
    count: AtomicUsize,
}

impl Load {
    /// Begins to write at full pace.
    pub(super) fn start(client: Client, topic: &str) -> Self {
        Self::start_at(FULL, client, topic)
    }

    /// Begins to write at this pace.
    pub(super) fn start_at(pace: Pace, client: Client, topic: &str) -> Self {
        let progress = Arc::new(Progress::default());
        let (noting, topic) = (Arc::clone(&progress), topic.to_owned());
        let thread = thread::spawn(move || noting.write(&client, &topic, pace));
        Self { progress, thread }
    }

    /// Waits until this many more records are acknowledged.
    pub(super) fn await_more(&self, count: usize) {
        let (before, deadline) = (self.count(), Instant::now() + PATIENCE);
        while self.count() < before + count {
            assert!(!self.thread.is_finished(), "the producer has ended");
            assert!(Instant::now() < deadline, "{} of {count} records", self.count() - before);
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until no more records are acknowledged.
    pub(super) fn await_standstill(&self) {
        let deadline = Instant::now() + PATIENCE;
        let (mut before, mut since) = (self.count(), Instant::now());
        while since.elapsed() < STANDSTILL {
            assert!(Instant::now() < deadline, "records are acknowledged on and on");
            thread::sleep(Duration::from_millis(10));
            let count = self.count();
            if count != before {
                (before, since) = (count, Instant::now());
            }
        }
    }

    /// Ends the writing, and returns what was acknowledged.
    pub(super) fn stop(self) -> Stored {
        self.progress.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        std::mem::take(&mut *self.progress.acknowledged.lock().unwrap())
    }

    fn count(&self) -> usize {
        self.progress.count.load(Ordering::Relaxed)
    }
}

impl Progress {
    fn write(&self, client: &Client, topic: &str, pace: Pace) {
        let producer = client.producer(ProducerConfig::default()).unwrap();
        let mut numbers = 0..;
        while !self.is_over.load(Ordering::Relaxed) {
            let sent: Vec<(u64, Ticket)> = numbers
                .by_ref()
                .take(pace.at_once)
                .map(|number: u64| {
                    let (key, value) = (number.to_be_bytes(), number.to_string());
                    let record = ProducerRecord {
                        topic,
                        key: Some(&key),
                        value: Some(value.as_bytes()),
                        ..ProducerRecord::default()
                    };
                    (number, producer.send(&record).unwrap())
                })
                .collect();
            for (number, ticket) in sent {
                let stored = ticket.wait(Some(PATIENCE)).unwrap();
                let stored_at = (stored.partition.0, stored.offset.unwrap().get());
                self.acknowledged.lock().unwrap().insert(stored_at, number);
                self.count.fetch_add(1, Ordering::Relaxed);
            }
            thread::sleep(pace.pause);
        }
        producer.close(Some(PATIENCE)).unwrap();
    }
}

/// Everything that a consumer reads from a topic.
pub(super) fn read_all(client: &Client, topic: &str) -> Stored {
    let consumer = client.consumer(&[topic], ConsumerConfig::default()).unwrap();
    let messages = consumer.until_end().unwrap().map(Result::unwrap);
    let stored =
        messages.map(|message| ((message.partition().0, message.offset().get()), value(&message)));
    stored.collect()
}

/// The number in a message.
pub(super) fn value(message: &Message) -> u64 {
    std::str::from_utf8(message.value().unwrap()).unwrap().parse().unwrap()
}

/// Asserts that every acknowledged record is where it was acknowledged, and that no partition has a
/// record twice or out of order.
pub(super) fn assert_kept(acknowledged: &Stored, read: &Stored) {
    for (place, number) in acknowledged {
        assert_eq!(read.get(place), Some(number), "the record {number} at {place:?}");
    }
    let mut last: BTreeMap<i32, u64> = BTreeMap::new();
    for ((partition, offset), number) in read {
        let before = last.insert(*partition, *number);
        assert!(before.is_none_or(|before| before < *number), "{number} at {partition}/{offset}");
    }
}
