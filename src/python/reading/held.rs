//! Messages that were taken and that the program did not get: they are offered before all others.
//!
//! Nobody asks for more while one is held, so that what was given out before it stays in hand, and
//! none of them counts as done. Commits and positions do not reach beyond them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::hooks::Place;
use crate::client;
use crate::types::{Offset, TopicPartition};

/// What is held of a consumer, in the order in which it is offered.
#[derive(Debug, Default)]
pub(crate) struct Held {
    rows: Mutex<Vec<Row>>,
    /// Whether there may be any; looked at before each message.
    is_any: AtomicBool,
}

/// A message, and the stream that is to offer it.
#[derive(Debug)]
struct Row {
    stream: usize,
    message: client::Message,
}

impl Held {
    /// Holds messages, which come before all that are held.
    pub(crate) fn put_back(
        &self,
        stream: usize,
        messages: impl IntoIterator<Item = client::Message>,
    ) {
        let mut rows = self.rows();
        rows.splice(0..0, messages.into_iter().map(|message| Row { stream, message }));
        self.is_any.store(!rows.is_empty(), Ordering::Release);
    }

    /// The first message that the place is to offer, unless it gives out nothing any more. One
    /// whose partition went to another member is offered there.
    pub(crate) fn take(&self, place: &dyn Place) -> Option<client::Message> {
        if !self.is_any.load(Ordering::Acquire) || place.consumer().is_closed() {
            return None;
        }
        let assigned = place.consumer().assignment();
        self.retain(|row| assigned.contains(row.message.topic_partition()));
        let mut rows = self.rows();
        let at = rows.iter().position(|row| row.stream == place.stream())?;
        let Row { message, .. } = rows.remove(at);
        self.is_any.store(!rows.is_empty(), Ordering::Release);
        Some(message)
    }

    /// Whether the stream has any.
    pub(crate) fn is_any(&self, stream: usize) -> bool {
        self.is_any.load(Ordering::Acquire) && self.rows().iter().any(|row| row.stream == stream)
    }

    /// Lets go of a message that is done with.
    pub(crate) fn release(&self, message: &client::Message) {
        let place = |message: &client::Message| (message.offset(), message.partition());
        self.retain(|row| {
            row.message.topic() != message.topic() || place(&row.message) != place(message)
        });
    }

    /// Lets go of what `is_meant`: the reader goes on elsewhere.
    pub(crate) fn forget(&self, is_meant: impl Fn(&TopicPartition) -> bool) {
        self.retain(|row| !is_meant(row.message.topic_partition()));
    }

    /// How far the partition was given out, if that was up to `offset` with what is held.
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
