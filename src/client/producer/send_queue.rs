//! The batches of one partition that are being sent: which batch may be sent next, in which order,
//! and the effect of a response on later batches. Owned by the sending task; independent of
//! connections. Batches in flight to one broker hold back batches for a new leader, which could
//! overtake them.
//!
//! Batches of an idempotent producer carry sequence numbers. A broker stores each at most once and
//! refuses a gap. A batch to be retried therefore holds back all later ones until everything in
//! flight has returned, and then they are sent again in order. The same applies to a batch that is
//! too large for the topic, which is retried in halves. After a batch, or some of its records, are
//! given up, its remaining records and later batches start a new sequence under a new producer id.
//! Batches that may have been stored already are given up too: under a new id they could be stored
//! twice.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::delivery::{BatchAck, Settled};
use super::packed::{Identity, Numbers, Packed, Place, finished, sequence_after};
use super::queue::{Due, Dues, Filled, Queue};
use super::splitting::{Refused, Splits};
use crate::client::ClientError;
use crate::client::error::Remedy;
use crate::config::HostPort;
use crate::link::Backoff;
use crate::record::{Compressor, HeaderMut, ProducerStamp};
use crate::wire::ErrorCode;

/// The sending state of one partition.
#[derive(Debug)]
pub(crate) struct SendQueue {
    queue: Arc<Queue>,
    is_idempotent: bool,
    in_flight_max: usize,
    backoff: Backoff,
    sequence: Option<Sequence>,
    /// The identity whose sequence was broken last.
    spoiled: Option<Identity>,
    /// Batches in flight, in the order sent.
    in_flight: VecDeque<Place>,
    /// The broker that the batches in flight were sent to.
    in_flight_to: Option<HostPort>,
    resend: VecDeque<Packed>,
    splits: Splits,
    /// True until all batches in flight have returned; nothing is sent meanwhile.
    is_blocked: bool,
    /// True after a batch was given up: later batches need a new sequence.
    is_broken: bool,
    pause_until: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Sequence {
    identity: Identity,
    next: i32,
    /// True once a batch of the sequence was stored. A broker without state for the producer
    /// accepts any sequence number, so before that a second batch could be stored without the
    /// first.
    is_begun: bool,
}

/// The next step of sending.
#[derive(Debug)]
pub(crate) enum Next {
    /// Send this batch; it counts as in flight until [`SendQueue::returned`].
    Send(Packed),
    /// Wait until this time.
    NotBefore(Duration),
    /// Wait for a response or a record.
    Nothing,
    /// Wait until a producer id is assigned.
    NeedsIdentity,
}

impl SendQueue {
    /// The sending state of the partition whose records are in `queue`.
    pub(crate) fn new(
        queue: Arc<Queue>,
        is_idempotent: bool,
        in_flight_max: usize,
        backoff: Backoff,
    ) -> Self {
        Self {
            queue,
            is_idempotent,
            in_flight_max,
            backoff,
            sequence: None,
            spoiled: None,
            in_flight: VecDeque::new(),
            in_flight_to: None,
            resend: VecDeque::new(),
            splits: Splits::default(),
            is_blocked: false,
            is_broken: false,
            pause_until: Duration::ZERO,
        }
    }

    /// The queue of records that are not sent yet.
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Returns the next batch if one may be sent now to `to`, the partition's leader.
    pub(crate) fn next(&mut self, to: &HostPort, dues: &Dues, compressor: &mut Compressor) -> Next {
        // Until the first batch of a sequence is stored, and while batches are in flight to another
        // broker, a further batch could be stored without the batches before it.
        let waits = self.is_blocked
            || self.sequence.is_some_and(|sequence| !sequence.is_begun)
            || self.in_flight_to.as_ref() != Some(to);
        if self.in_flight.len() >= self.in_flight_max || (waits && !self.in_flight.is_empty()) {
            return Next::Nothing;
        }
        if dues.now < self.pause_until {
            return Next::NotBefore(self.pause_until);
        }
        if self.is_idempotent && self.sequence.is_none() {
            let has_work = !self.resend.is_empty() || self.queue.oldest().is_some();
            return if has_work { Next::NeedsIdentity } else { Next::Nothing };
        }
        self.is_blocked = false;
        let batch = match self.resend.pop_front() {
            Some(batch) => batch,
            None => match self.queue.take_due(dues) {
                Due::Batch(filled) => self.pack(filled, compressor),
                Due::NotBefore(time) => return Next::NotBefore(time),
                Due::Empty => return Next::Nothing,
            },
        };
        self.in_flight.push_back(batch.place());
        self.in_flight_to.take_if(|in_flight_to| in_flight_to != to);
        self.in_flight_to.get_or_insert_with(|| to.clone());
        Next::Send(batch)
    }

    /// Returns true if a sequence may start under `identity`. The identity of a broken sequence is
    /// not used again.
    pub(crate) fn accepts(&self, identity: Identity) -> bool {
        self.spoiled != Some(identity)
    }

    /// Starts a sequence. Batches to be retried get new sequence numbers in it.
    pub(crate) fn adopt(&mut self, identity: Identity) {
        assert!(self.in_flight.is_empty(), "a sequence begins with nothing in flight");
        let mut sequence = Sequence { identity, next: 0, is_begun: false };
        for batch in &mut self.resend {
            let mut bytes = Vec::from(std::mem::take(&mut batch.bytes));
            if let Some(mut header) = HeaderMut::of_batch(&mut bytes) {
                header.set_producer(sequence.take(batch.numbers.count()));
            }
            batch.bytes = bytes.into();
        }
        self.sequence = Some(sequence);
    }

    /// Handles the result of a batch: a final outcome, or a retry.
    pub(crate) fn returned(
        &mut self,
        mut batch: Packed,
        outcome: Result<BatchAck, Refused>,
        now: Duration,
        compressor: &mut Compressor,
    ) -> Settled {
        let is_oldest = self.take_back(batch.place());
        let mut settled = Settled::new();
        match outcome {
            Ok(ack) => {
                self.backoff.reset();
                if let Some(sequence) = &mut self.sequence {
                    sequence.is_begun = true;
                }
                self.end(batch, Ok(ack), &mut settled);
            }
            Err(Refused { error, .. }) if self.may_retry(&error, is_oldest) => {
                batch.may_be_stored |= may_be_stored(&error);
                if !self.is_blocked {
                    self.pause_until = now.saturating_add(self.backoff.next_pause());
                }
                self.send_again(batch);
            }
            Err(refused) => self.reduce(batch, refused, compressor, &mut settled),
        }
        self.mend(&mut settled);
        settled
    }

    /// Retries the part of a refused batch that the broker may accept, and gives up the rest.
    fn reduce(
        &mut self,
        mut batch: Packed,
        refused: Refused,
        compressor: &mut Compressor,
        settled: &mut Settled,
    ) {
        if let Some(behind) = self.splits.split(&mut batch, &refused.error, compressor) {
            self.send_again(batch);
            self.send_again(behind);
            return;
        }
        self.is_broken |= self.is_idempotent;
        if self.splits.fail_named(&mut batch, &refused, compressor) {
            self.send_again(batch);
        } else {
            self.is_blocked = true;
            self.splits.fail(batch, refused, settled);
        }
    }

    /// Gives up batches opened before `time`, except those in flight.
    pub(crate) fn expire(&mut self, time: Duration, error: &ClientError) -> Settled {
        let mut settled = Settled::new();
        while let Some(batch) = self.resend.pop_front_if(|batch| batch.opened_at < time) {
            self.is_broken |= self.is_idempotent;
            self.end(batch, Err(error.clone()), &mut settled);
        }
        while let Some(filled) = self.queue.take_opened_before(time) {
            settled.push((Arc::clone(&filled.delivery), filled.builder.record_count()));
            filled.fail(error.clone());
        }
        self.mend(&mut settled);
        settled
    }

    /// Gives up everything except batches in flight.
    pub(crate) fn abandon(&mut self, error: &ClientError) -> Settled {
        let mut settled = Settled::new();
        for batch in std::mem::take(&mut self.resend) {
            // Its sequence numbers are used up, so the next batch would leave a gap.
            self.is_broken |= self.is_idempotent;
            self.end(batch, Err(error.clone()), &mut settled);
        }
        for filled in self.queue.drain() {
            settled.push((Arc::clone(&filled.delivery), filled.builder.record_count()));
            filled.fail(error.clone());
        }
        self.mend(&mut settled);
        settled
    }

    /// The time at which the oldest batch that is not in flight was opened.
    pub(crate) fn oldest(&self) -> Option<Duration> {
        let resent = self.resend.front().map(|batch| batch.opened_at);
        resent.or_else(|| self.queue.oldest())
    }

    /// Returns true if nothing is in flight and nothing is to be retried.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.resend.is_empty()
    }

    /// Completes giving up a batch once nothing is in flight: later batches that may have been
    /// stored are given up too, the other batches wait for a new sequence.
    fn mend(&mut self, settled: &mut Settled) {
        if !self.is_broken || !self.in_flight.is_empty() {
            return;
        }
        self.is_broken = false;
        // Without a current sequence, `spoiled` still holds the identity of the broken one.
        if let Some(sequence) = self.sequence.take() {
            self.spoiled = Some(sequence.identity);
        }
        let (doubtful, clean) = self.resend.drain(..).partition(|batch| batch.may_be_stored);
        self.resend = clean;
        let doubtful: VecDeque<Packed> = doubtful;
        for batch in doubtful {
            let error = ClientError::Broker {
                code: ErrorCode::OutOfOrderSequenceNumber,
                message: "an earlier batch was given up; this one may have been stored".to_owned(),
            };
            self.end(batch, Err(error), settled);
        }
    }

    /// Removes a batch from the batches in flight; returns true if it was the oldest.
    fn take_back(&mut self, batch: Place) -> bool {
        let number = self.in_flight.iter().position(|place| *place == batch);
        assert!(number.is_some(), "an answer to none of {:?} in flight", self.in_flight);
        number.and_then(|number| self.in_flight.remove(number));
        number == Some(0)
    }

    /// Queues a batch to be retried, in its order, once everything in flight has returned.
    fn send_again(&mut self, batch: Packed) {
        self.is_blocked = true;
        let place = self.resend.partition_point(|other| other.place() < batch.place());
        self.resend.insert(place, batch);
    }

    fn end(
        &mut self,
        batch: Packed,
        outcome: Result<BatchAck, ClientError>,
        settled: &mut Settled,
    ) {
        if let Some(size) = self.splits.end(batch, outcome, settled) {
            self.queue.limit_batches(size);
        }
    }

    fn may_retry(&self, error: &ClientError, is_oldest: bool) -> bool {
        match error.code() {
            // The gap was left by an earlier batch that is to be retried, was given up, or is still
            // in flight. If there is none, the broker has lost its state of this producer.
            Some(ErrorCode::OutOfOrderSequenceNumber) => {
                self.is_blocked || self.is_broken || !is_oldest
            }
            _ => matches!(error.remedy(), Remedy::Retry | Remedy::Refresh),
        }
    }

    fn pack(&mut self, mut filled: Filled, compressor: &mut Compressor) -> Packed {
        let records = filled.builder.record_count();
        let producer = self.sequence.as_mut().map(|sequence| sequence.take(records));
        Packed {
            size: filled.builder.size(),
            bytes: finished(&mut filled.builder, producer, compressor),
            numbers: Numbers::of_batch(records),
            delivery: filled.delivery,
            windows: filled.windows,
            opened_at: filled.opened_at,
            may_be_stored: false,
            reserved: filled.reserved,
        }
    }
}

impl Sequence {
    /// Takes the sequence numbers of the next `records` records.
    fn take(&mut self, records: u32) -> ProducerStamp {
        let Identity { id, epoch } = self.identity;
        let base_sequence = self.next;
        self.next = sequence_after(base_sequence, records);
        ProducerStamp { id, epoch, base_sequence }
    }
}

/// Returns true if the broker may have stored a batch in spite of this error.
fn may_be_stored(error: &ClientError) -> bool {
    !matches!(
        error,
        ClientError::TopicNotFound { .. }
            | ClientError::Broker {
                code: ErrorCode::NotLeaderOrFollower
                    | ErrorCode::LeaderNotAvailable
                    | ErrorCode::NotEnoughReplicas
                    | ErrorCode::CorruptMessage
                    | ErrorCode::OutOfOrderSequenceNumber,
                ..
            }
    )
}
