//! A watcher of what a cluster shows while faults happen: records, and the ends of partitions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use streamlog::client::{Client, ConsumerConfig, FoundOffset};

use super::load::{Stored, value};

/// The longest wait for a record.
const PATIENCE: Duration = Duration::from_millis(100);
/// The pause between two questions for the ends.
const PAUSE: Duration = Duration::from_millis(20);

/// A consumer that keeps all that it was shown, and a client that asks for the ends of partitions.
pub(super) struct Watcher {
    is_over: Arc<AtomicBool>,
    reading: JoinHandle<Stored>,
    asking: JoinHandle<usize>,
}

impl Watcher {
    /// Begins to watch a topic, from its first record on.
    pub(super) fn start([reader, asker]: [Client; 2], topic: &'static str) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (read, ask) = (Arc::clone(&is_over), Arc::clone(&is_over));
        let reading = thread::spawn(move || read_until(&read, &reader, topic));
        let asking = thread::spawn(move || ask_until(&ask, &asker, topic));
        Self { is_over, reading, asking }
    }

    /// Ends the watch, and returns the records that were shown and the number of times that the
    /// ends were told. No end has ever fallen.
    pub(super) fn stop(self) -> (Stored, usize) {
        self.is_over.store(true, Ordering::Relaxed);
        (self.reading.join().unwrap(), self.asking.join().unwrap())
    }
}

fn read_until(is_over: &AtomicBool, client: &Client, topic: &str) -> Stored {
    let consumer = client.consumer(&[topic], ConsumerConfig::default()).unwrap();
    let mut shown = Stored::new();
    while !is_over.load(Ordering::Relaxed) {
        if let Some(message) = consumer.next(Some(PATIENCE)).unwrap() {
            let place = (message.partition().0, message.offset().get());
            let before = shown.insert(place, value(&message));
            assert_eq!(before, None, "the record at {place:?} was shown twice");
        }
    }
    shown
}

/// Asks for the ends again and again, and returns how often they were told.
fn ask_until(is_over: &AtomicBool, client: &Client, topic: &str) -> usize {
    let (mut ends, mut count) = (BTreeMap::new(), 0);
    while !is_over.load(Ordering::Relaxed) {
        // While no broker leads, nobody tells an end.
        if let Ok(told) = client.admin().end_offsets(topic) {
            for FoundOffset { partition, offset, .. } in told {
                let before = ends.insert(partition.clone(), offset);
                let has_fallen = before.is_some_and(|before| before > offset);
                assert!(!has_fallen, "{before:?} of {partition} became {offset:?}");
            }
            count += 1;
        }
        thread::sleep(PAUSE);
    }
    count
}
