//! The records of one partition that are not sent yet: full batches, and an open one.
//!
//! Callers append to the open batch under a lock that is held no longer than the copy of a record
//! takes. The sending task takes batches that are due.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::audit::Windows;
use super::buffer_pool::{BufferPool, Reservation};
use super::delivery::{Delivery, Ticket};
use crate::client::ClientError;
use crate::record::{BatchBuilder, HEADER_SIZE, Header};
use crate::types::{Timestamp, TopicPartition};

/// The unsent records of one partition.
#[derive(Debug)]
pub(crate) struct Queue {
    partition: TopicPartition,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The size at which a batch is full.
    batch_size: usize,
    full: VecDeque<Filled>,
    open: Option<Filled>,
    /// True while the queue is on the sending task's list.
    is_listed: bool,
    /// The size of the last batch, as an estimate of the next.
    expected_size: usize,
}

/// A batch of unsent records, either open or full.
#[derive(Debug)]
pub(crate) struct Filled {
    /// Its records.
    pub(crate) builder: BatchBuilder,
    /// Its outcome.
    pub(crate) delivery: Arc<Delivery>,
    /// The monotonic time of its first record.
    pub(crate) opened_at: Duration,
    /// The buffer space it occupies.
    pub(crate) reserved: Reservation,
    /// Its records by audit window, if they are counted.
    pub(crate) windows: Windows,
}

/// A record to append.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appending<'a> {
    pub(crate) timestamp: Timestamp,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) headers: &'a [Header<'a>],
    /// The maximum size of the record, already reserved in the buffer.
    pub(crate) size: usize,
    /// The width of the audit windows, if records are counted.
    pub(crate) window: Option<Duration>,
}

/// The result of an append.
#[derive(Debug)]
pub(crate) struct Appended {
    /// The record's ticket.
    pub(crate) ticket: Ticket,
    /// True if the queue must be put on the sending task's list.
    pub(crate) lists: bool,
    /// True if the sending task has something to send now, or a new deadline.
    pub(crate) wakes: bool,
    /// True if a batch became full.
    pub(crate) fills: bool,
}

/// The conditions other than size under which batches are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dues {
    /// The current time.
    pub(crate) now: Duration,
    /// The time a batch waits for more records.
    pub(crate) linger: Duration,
    /// Batches with lower numbers are due because of a flush.
    pub(crate) flush_below: u64,
}

/// The result of taking a batch.
#[derive(Debug)]
pub(crate) enum Due {
    /// A batch to send.
    Batch(Filled),
    /// None before this time.
    NotBefore(Duration),
    /// The queue is empty.
    Empty,
}

impl Queue {
    /// An empty queue whose batches are full at `batch_size` bytes.
    pub(crate) fn new(partition: TopicPartition, batch_size: usize) -> Self {
        let state = State {
            batch_size,
            full: VecDeque::new(),
            open: None,
            is_listed: false,
            expected_size: 0,
        };
        Self { partition, state: Mutex::new(state) }
    }

    /// The partition of the records.
    pub(crate) fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// Appends a record. If a new batch is needed, `open` returns its delivery and the current
    /// time.
    ///
    /// On success the batch owns the record's buffer space; on failure it still belongs to the
    /// caller.
    pub(crate) fn append(
        &self,
        record: &Appending<'_>,
        pool: &Arc<BufferPool>,
        open: impl FnOnce(&TopicPartition) -> Result<(Arc<Delivery>, Duration), ClientError>,
    ) -> Result<Appended, ClientError> {
        let mut state = self.state();
        let batch_size = state.batch_size;
        let mut fills = state.make_way(record.size);
        let mut opens = false;
        if state.open.is_none() {
            opens = true;
            let buffer = Vec::with_capacity(state.expected_size.max(HEADER_SIZE + record.size));
            let (delivery, opened_at) = open(&self.partition)?;
            state.open = Some(Filled {
                builder: BatchBuilder::with_buffer(buffer),
                delivery,
                opened_at,
                reserved: Reservation::new(Arc::clone(pool)),
                windows: Windows::default(),
            });
        }
        let Some(batch) = &mut state.open else { unreachable!("it was opened above") };
        let pushed = batch.builder.push(record.timestamp, record.key, record.value, record.headers);
        let index = pushed.map_err(|_| ClientError::MessageTooLarge {
            size: record.size,
            limit: Some(batch_size),
        })?;
        batch.delivery.set_records(index + 1);
        batch.reserved.add(record.size);
        if let Some(width) = record.window {
            batch.windows.add(width, record.timestamp);
        }
        let ticket = Ticket::new(Arc::clone(&batch.delivery), index, record.timestamp);
        if batch.builder.size() >= batch_size {
            state.close();
            fills = true;
        }
        let lists = !std::mem::replace(&mut state.is_listed, true);
        Ok(Appended { ticket, lists, wakes: opens || fills, fills })
    }

    /// Lowers the size at which batches are full to `batch_size`.
    pub(crate) fn limit_batches(&self, batch_size: usize) {
        let mut state = self.state();
        state.batch_size = state.batch_size.min(batch_size);
    }

    /// Takes the first batch if it is due.
    pub(crate) fn take_due(&self, dues: &Dues) -> Due {
        let mut state = self.state();
        if let Some(batch) = state.full.pop_front() {
            return Due::Batch(batch);
        }
        let Some(open) = &state.open else { return Due::Empty };
        let due_at = open.opened_at.saturating_add(dues.linger);
        let is_due = due_at <= dues.now
            || open.delivery.ordinal() < dues.flush_below
            || open.delivery.is_urgent();
        match state.open.take_if(|_| is_due) {
            Some(batch) => {
                state.expected_size = batch.builder.size();
                Due::Batch(batch)
            }
            None => Due::NotBefore(due_at),
        }
    }

    /// Takes the first batch if it was opened before `time`.
    pub(crate) fn take_opened_before(&self, time: Duration) -> Option<Filled> {
        let mut state = self.state();
        match state.full.front() {
            Some(first) if first.opened_at < time => state.full.pop_front(),
            Some(_) => None,
            None => state.open.take_if(|open| open.opened_at < time),
        }
    }

    /// The time at which the first batch was opened.
    pub(crate) fn oldest(&self) -> Option<Duration> {
        let state = self.state();
        state.full.front().or(state.open.as_ref()).map(|batch| batch.opened_at)
    }

    /// Takes the queue off the sending task's list if it is empty; the next append lists it again.
    pub(crate) fn unlist_if_empty(&self) -> bool {
        let mut state = self.state();
        let is_empty = state.full.is_empty() && state.open.is_none();
        state.is_listed = !is_empty;
        is_empty
    }

    /// Takes all batches.
    pub(crate) fn drain(&self) -> Vec<Filled> {
        let mut state = self.state();
        let mut all: Vec<Filled> = state.full.drain(..).collect();
        all.extend(state.open.take());
        all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Closes the open batch if a record of `size` would exceed the limit.
    fn make_way(&mut self, size: usize) -> bool {
        let is_full = self
            .open
            .as_ref()
            .is_some_and(|open| open.builder.size().saturating_add(size) > self.batch_size);
        if is_full {
            self.close();
        }
        is_full
    }

    fn close(&mut self) {
        if let Some(batch) = self.open.take() {
            self.expected_size = batch.builder.size();
            self.full.push_back(batch);
        }
    }
}

impl Filled {
    /// Gives up the batch.
    pub(crate) fn fail(self, error: ClientError) {
        self.delivery.settle(Err(error));
    }
}
