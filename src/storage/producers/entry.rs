//! One producer's window: its epoch and its last five batches.

use std::time::Duration;

use crate::storage::producers::batch::sequence_after;
use crate::storage::producers::{AppendedBatch, ProducerBatch, SequenceError};
use crate::types::{ProducerEpoch, ProducerId, Timestamp};

/// How many batches a client may have in flight, and therefore repeat.
pub(super) const WINDOW: usize = 5;

/// What is remembered of a producer, for people who look for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveProducer {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its incarnation.
    pub epoch: ProducerEpoch,
    /// The sequence of its last record, or −1 if it has written none in this epoch.
    pub last_sequence: i32,
    /// The largest timestamp of its last batch.
    pub last_timestamp: Timestamp,
}

/// What to do with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is new.
    Append,
    /// It is in the log already, here; the producer gets the answer of the original, under the same
    /// condition.
    Duplicate(AppendedBatch),
}

/// What is known of one producer.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) epoch: ProducerEpoch,
    /// Oldest first, at most `WINDOW`.
    pub(super) window: Vec<Sequenced>,
    /// When it last wrote, by the monotonic clock of this process.
    pub(super) last_seen: Duration,
}

/// A batch in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sequenced {
    pub(super) base_sequence: i32,
    pub(super) last_sequence: i32,
    pub(super) appended: AppendedBatch,
}

impl Entry {
    /// A producer that has written nothing in `epoch`.
    pub(super) fn new(epoch: ProducerEpoch) -> Self {
        Self { epoch, window: Vec::new(), last_seen: Duration::ZERO }
    }

    /// Whether the batch is to be appended.
    pub(super) fn check(&self, batch: &ProducerBatch) -> Result<Verdict, SequenceError> {
        if batch.producer_epoch < self.epoch {
            return Err(SequenceError::Fenced {
                producer_id: batch.producer_id,
                sent: batch.producer_epoch,
                current: self.epoch,
            });
        }
        if batch.producer_epoch == self.epoch
            && let Some(original) = self.original_of(batch)
        {
            return Ok(Verdict::Duplicate(original));
        }
        let expected = self.next_sequence(batch.producer_epoch);
        if batch.base_sequence == expected {
            Ok(Verdict::Append)
        } else {
            Err(SequenceError::OutOfOrder {
                producer_id: batch.producer_id,
                sent: batch.base_sequence,
                expected,
            })
        }
    }

    /// Takes an appended batch in, whatever it is: the log is the truth.
    pub(super) fn record(&mut self, batch: &ProducerBatch) {
        if batch.producer_epoch != self.epoch {
            self.epoch = batch.producer_epoch;
            self.window.clear();
        }
        if batch.base_sequence < 0 {
            return;
        }
        if self.window.len() == WINDOW {
            self.window.remove(0);
        }
        self.window.push(Sequenced {
            base_sequence: batch.base_sequence,
            last_sequence: batch.last_sequence(),
            appended: batch.appended,
        });
    }

    /// What people are shown of it.
    pub(super) fn describe(&self, producer_id: ProducerId) -> ActiveProducer {
        let last = self.window.last();
        ActiveProducer {
            producer_id,
            epoch: self.epoch,
            last_sequence: last.map_or(-1, |batch| batch.last_sequence),
            last_timestamp: last.map_or(Timestamp::NONE, |batch| batch.appended.max_timestamp),
        }
    }

    fn original_of(&self, batch: &ProducerBatch) -> Option<AppendedBatch> {
        let (base, last) = (batch.base_sequence, batch.last_sequence());
        let same = |kept: &&Sequenced| kept.base_sequence == base && kept.last_sequence == last;
        self.window.iter().rev().find(same).map(|kept| kept.appended)
    }

    /// A new epoch begins again at 0.
    fn next_sequence(&self, epoch: ProducerEpoch) -> i32 {
        match self.window.last() {
            Some(last) if epoch == self.epoch => sequence_after(last.last_sequence, 1),
            _ => 0,
        }
    }
}
