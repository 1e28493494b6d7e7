//! The state of a producer: its epoch and its last five batches, which show duplicates and gaps.

use std::time::Duration;

use crate::storage::producers::batch::sequence_after;
use crate::storage::producers::{AppendedBatch, ProducerBatch};
use crate::types::{ProducerEpoch, ProducerId, Timestamp};

/// The number of batches that a client may have in flight, and may therefore send again
/// (KAFKA-5494).
pub(super) const WINDOW: usize = 5;

/// The state of a producer, for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveProducer {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub epoch: ProducerEpoch,
    /// The sequence of its last record, or −1 if it has written none in this epoch.
    pub last_sequence: i32,
    /// The largest timestamp of its last batch.
    pub last_timestamp: Timestamp,
}

/// The decision on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The batch is new and must be appended.
    Append,
    /// The batch is in the log already, at this position. The producer gets the response of the
    /// original batch, once that is as durable as the request demands.
    Duplicate(AppendedBatch),
}

/// The state of a producer.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) epoch: ProducerEpoch,
    /// Its last batches, oldest first, at most `WINDOW`.
    pub(super) window: Vec<Sequenced>,
    /// The time of its last batch, by the monotonic clock of this process.
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

    /// Decides whether the batch must be appended.
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

    /// Records an appended batch without checks: the log is authoritative.
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

    /// The description shown to operators.
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

    /// The next sequence in an epoch. A new epoch begins at 0.
    fn next_sequence(&self, epoch: ProducerEpoch) -> i32 {
        match self.window.last() {
            Some(last) if epoch == self.epoch => sequence_after(last.last_sequence, 1),
            _ => 0,
        }
    }
}

/// The reason for which a batch of an idempotent producer is refused; nothing of it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// A newer epoch of the producer has written already.
    #[error("producer {producer_id} sent epoch {sent}, and epoch {current} has written already")]
    Fenced {
        /// The producer.
        producer_id: ProducerId,
        /// The batch's epoch.
        sent: ProducerEpoch,
        /// The current epoch.
        current: ProducerEpoch,
    },
    /// The batch does not follow the producer's last batch, and is none of the last five. Usually a
    /// batch in between is missing.
    #[error("producer {producer_id} sent sequence {sent} where {expected} comes next")]
    OutOfOrder {
        /// The producer.
        producer_id: ProducerId,
        /// The batch's first sequence.
        sent: i32,
        /// The expected sequence.
        expected: i32,
    },
}
