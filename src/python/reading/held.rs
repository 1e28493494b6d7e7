//! Messages that were taken but not returned to the application: they precede all other messages.
//!
//! No further message is read while one is held. Messages returned before it therefore stay
//! unprocessed, and commits and positions stay below held messages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::source::Source;
use crate::client;
use crate::types::{Offset, TopicPartition};

/// The held messages of a consumer, in the order in which they are returned.
#[derive(Debug, Default)]
pub(crate) struct Held {
    rows: Mutex<Vec<Row>>,
    /// True if there may be any; a fast check before each message.
    is_any: AtomicBool,
}

/// A message, with the stream that must return it.
#[derive(Debug)]
struct Row {
    stream: usize,
    message: client::Message,
}

impl Held {
    /// Holds messages in front of the messages already held.
    pub(crate) fn put_back(
        &self,
        stream: usize,
        messages: impl IntoIterator<Item = client::Message>,
    ) {
        let mut rows = self.rows();
        rows.splice(0..0, messages.into_iter().map(|message| Row { stream, message }));
        self.is_any.store(!rows.is_empty(), Ordering::Release);
    }

    /// Takes the first message for this source, unless its consumer is closed. Messages of revoked
    /// partitions are dropped: their new owner reads them.
    pub(crate) fn take(&self, source: &dyn Source) -> Option<client::Message> {
        if !self.is_any.load(Ordering::Acquire) || source.consumer().is_closed() {
            return None;
        }
        let assigned = source.consumer().assignment();
        self.retain(|row| assigned.contains(row.message.topic_partition()));
        let mut rows = self.rows();
        let at = rows.iter().position(|row| row.stream == source.stream())?;
        let Row { message, .. } = rows.remove(at);
        self.is_any.store(!rows.is_empty(), Ordering::Release);
        Some(message)
    }

    /// Returns true if the stream has held messages.
    pub(crate) fn is_any(&self, stream: usize) -> bool {
        self.is_any.load(Ordering::Acquire) && self.rows().iter().any(|row| row.stream == stream)
    }

    /// Drops a message that is processed.
    pub(crate) fn release(&self, message: &client::Message) {
        let position = |message: &client::Message| (message.offset(), message.partition());
        self.retain(|row| {
            row.message.topic() != message.topic() || position(&row.message) != position(message)
        });
    }

    /// Drops the messages of these partitions after a seek.
    pub(crate) fn forget(&self, is_meant: impl Fn(&TopicPartition) -> bool) {
        self.retain(|row| !is_meant(row.message.topic_partition()));
    }

    /// The position of a partition whose reader is at `offset`: the offset of its first held
    /// message if that is lower.
    pub(crate) fn reached(&self, partition: &TopicPartition, offset: Offset) -> Offset {
        if !self.is_any.load(Ordering::Acquire) {
            return offset;
        }
        let rows = self.rows();
        let mine = rows.iter().filter(|row| row.message.topic_partition() == partition);
        mine.map(|row| row.message.offset()).fold(offset, Offset::min)
    }

    fn retain(&self, stays: impl FnMut(&Row) -> bool) {
        let mut rows = self.rows();
        rows.retain(stays);
        self.is_any.store(!rows.is_empty(), Ordering::Release);
    }

    fn rows(&self) -> MutexGuard<'_, Vec<Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
