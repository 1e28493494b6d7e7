//! The sending state of a partition against a model of a broker: after any failure, nothing is
//! stored twice and nothing out of order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::delivery::{BatchAck, Settled, Ticket};
use super::model_broker_tests::{ModelBroker, code, too_large};
use super::packed::{Identity, Packed};
use super::queue_tests::Callers;
use super::send_queue::{Next, SendQueue};
use super::splitting::Refused;
use crate::client::ClientError;
use crate::config::HostPort;
use crate::io::{Clock, SeededRandom};
use crate::link::Backoff;
use crate::record::{Compression, Compressor};
use crate::types::{ProducerEpoch, ProducerId, seeds};
use crate::wire::ErrorCode;
use crate::wire::produce::{self, RecordError};

const DELIVERY_TIMEOUT: Duration = Duration::from_mins(1);
/// The first pause between attempts.
const PAUSE: Duration = Duration::from_millis(50);
const LEADERS: [&str; 2] = ["one:9092", "other:9092"];

/// A partition's sending state, the requests in flight, and the broker.
pub(super) struct World {
    pub(super) callers: Callers,
    send_queue: SendQueue,
    /// The partition's leader; all brokers share one log.
    leader: HostPort,
    compressor: Compressor,
    pub(super) broker: ModelBroker,
    pub(super) in_flight: VecDeque<Packed>,
    pub(super) tickets: Vec<Ticket>,
    /// The numbers of records that are too large for the broker even alone.
    large: Vec<usize>,
    /// The producer's current identity.
    identity: Option<Identity>,
    identities: i64,
}

impl World {
    /// A broker that accepts any batch.
    fn new() -> Self {
        Self::with_sizes(150, usize::MAX, Compression::None)
    }

    /// Batches are filled up to `batch_size`; the broker accepts them up to `limit`.
    pub(super) fn with_sizes(batch_size: usize, limit: usize, compression: Compression) -> Self {
        let callers = Callers::new(batch_size);
        let backoff = Backoff::new(PAUSE, 20 * PAUSE, callers.clock.as_ref());
        let send_queue = SendQueue::new(Arc::clone(&callers.queue), true, 5, backoff);
        Self {
            callers,
            send_queue,
            leader: LEADERS[0].parse().unwrap(),
            compressor: Compressor::new(compression, None).unwrap(),
            broker: ModelBroker::new(limit),
            in_flight: VecDeque::new(),
            tickets: Vec::new(),
            large: Vec::new(),
            identity: None,
            identities: 0,
        }
    }

    /// A random world. In two of three the broker refuses some batches, and some single records, as
    /// too large; in three of four it names records at fault.
    fn of_any_broker(random: &mut SeededRandom) -> Self {
        let compression = [Compression::None, Compression::Lz4, Compression::Gzip][random.index(3)];
        let mut world = match random.below(3) {
            0 => Self::with_sizes(150, usize::MAX, compression),
            _ => Self::with_sizes(1_000, 300, compression),
        };
        world.broker.fault_every = [None, Some(2), Some(5), Some(40)][random.index(4)];
        world
    }

    pub(super) fn append(&mut self) {
        self.append_padded(0, &mut SeededRandom::new(0));
    }

    pub(super) fn append_padded(&mut self, padding: usize, random: &mut SeededRandom) {
        let mut value = (self.tickets.len() as u64).to_be_bytes().to_vec();
        value.extend((0..padding).map(|_| random.number().to_be_bytes()[0]));
        if value.len() > self.broker.limit {
            self.large.push(self.tickets.len());
        }
        self.tickets.push(self.callers.append(&value));
    }

    fn append_any(&mut self, random: &mut SeededRandom) {
        let is_large = self.broker.limit < usize::MAX && random.below(20) == 0;
        let padding = if is_large { random.between(300, 900) } else { random.below(60) };
        self.append_padded(usize::try_from(padding).unwrap(), random);
    }

    /// Sends one batch if possible.
    pub(super) fn send(&mut self) -> bool {
        match self.send_queue.next(&self.leader, &self.callers.dues(0), &mut self.compressor) {
            Next::Send(batch) => {
                self.in_flight.push_back(batch);
                true
            }
            Next::NeedsIdentity => {
                let send_queue = &self.send_queue;
                let known = self.identity.filter(|identity| send_queue.accepts(*identity));
                let identity = known.unwrap_or_else(|| {
                    self.identities += 1;
                    Identity { id: ProducerId(self.identities), epoch: ProducerEpoch(0) }
                });
                assert!(self.send_queue.accepts(identity));
                self.identity = Some(identity);
                self.send_queue.adopt(identity);
                true
            }
            Next::NotBefore(_) | Next::Nothing => false,
        }
    }

    pub(super) fn answer(
        &mut self,
        outcome: impl FnOnce(&mut ModelBroker, &[u8]) -> Result<BatchAck, Refused>,
    ) {
        self.answer_to(0, outcome);
    }

    /// Answers request number `place` of those in flight.
    fn answer_to(
        &mut self,
        place: usize,
        outcome: impl FnOnce(&mut ModelBroker, &[u8]) -> Result<BatchAck, Refused>,
    ) {
        let Some(batch) = self.in_flight.remove(place) else { return };
        let outcome = outcome(&mut self.broker, &batch.bytes);
        let now = self.callers.clock.monotonic();
        let settled = self.send_queue.returned(batch, outcome, now, &mut self.compressor);
        self.close(&settled);
    }

    fn close(&self, settled: &Settled) {
        for (delivery, records) in settled {
            self.callers.undelivered.close(delivery, *records);
        }
    }

    /// Breaks the connection after the broker has processed `taken` of the requests.
    fn break_connection(&mut self, taken: usize) {
        let lost = Refused::from(ClientError::unreachable("broker", "it closed the connection"));
        for index in 0..self.in_flight.len() {
            let lost = lost.clone();
            self.answer(|broker, bytes| {
                if index < taken {
                    // The response is lost with the connection.
                    let _ = broker.produce(bytes);
                }
                Err(lost)
            });
        }
    }

    fn step(&mut self, random: &mut SeededRandom) {
        match random.below(12) {
            0..4 => self.append_any(random),
            4..7 => {
                self.send();
            }
            7 | 8 => self.answer(ModelBroker::produce),
            9 => match random.below(9) {
                8 => self.answer(|_, bytes| Err(too_large(bytes))),
                0 => self.answer(|_, _| Err(code(ErrorCode::InvalidRecord).into())),
                1..4 => self.answer(|broker, bytes| {
                    broker.produce(bytes)?;
                    Err(code(ErrorCode::NotEnoughReplicasAfterAppend).into())
                }),
                _ => self.answer(|_, _| Err(code(ErrorCode::NotLeaderOrFollower).into())),
            },
            10 => self.break_connection(random.index(6)),
            _ => {
                self.leader = LEADERS[random.index(2)].parse().unwrap();
                self.callers.clock.advance(Duration::from_secs(random.below(20)));
                self.expire();
            }
        }
    }

    /// Gives up batches older than the delivery timeout.
    fn expire(&mut self) {
        let now = self.callers.clock.monotonic();
        let late = ClientError::Timeout {
            operation: "delivering",
            elapsed: DELIVERY_TIMEOUT,
            last_error: None,
        };
        let settled = self.send_queue.expire(now.saturating_sub(DELIVERY_TIMEOUT), &late);
        self.close(&settled);
    }

    /// As [`step`](Self::step), but without failures that leave it unknown whether a batch was
    /// stored.
    fn plain_step(&mut self, random: &mut SeededRandom) {
        match random.below(12) {
            0..4 => self.append_any(random),
            4..7 => {
                self.send();
            }
            7..11 => self.answer(ModelBroker::produce),
            _ => self.answer(|_, _| Err(code(ErrorCode::NotLeaderOrFollower).into())),
        }
    }

    /// Checks that each record is stored at most once, in order, at the offset in its ticket.
    fn check(&self, seed: u64) {
        let log = &self.broker.log;
        assert!(log.is_sorted_by(|one, other| one < other), "seed {seed}: {log:?}");
        for (number, ticket) in self.tickets.iter().enumerate() {
            assert!(ticket.is_done(), "seed {seed}: record {number} has no outcome");
            let place = log.binary_search(&(number as u64)).ok();
            if let Ok(told) = ticket.wait(Some(Duration::ZERO)) {
                let told = told.offset.and_then(|offset| usize::try_from(offset.get()).ok());
                assert_eq!(place, told, "seed {seed}: offset of record {number}");
            }
        }
    }

    /// The number of failures reported one by one, and the total number of records.
    pub(super) fn reported(&self) -> (usize, usize) {
        match self.callers.undelivered.report() {
            Err(ClientError::Delivery { failures, unlisted }) => {
                let listed: u32 = failures.iter().map(|failure| failure.records).sum();
                (failures.len(), usize::try_from(u64::from(listed) + unlisted).unwrap())
            }
            told => panic!("{told:?}"),
        }
    }

    /// The records that were not delivered.
    pub(super) fn failed(&self) -> Vec<usize> {
        let outcomes = self.tickets.iter().map(|ticket| ticket.wait(Some(Duration::ZERO)));
        outcomes.enumerate().filter(|(_, told)| told.is_err()).map(|(number, _)| number).collect()
    }

    /// The records that the broker accepts in no batch.
    fn hopeless(&self) -> Vec<usize> {
        let is_hopeless =
            |number: &usize| self.large.contains(number) || self.broker.is_at_fault(*number as u64);
        (0..self.tickets.len()).filter(is_hopeless).collect()
    }

    /// Lets everything succeed until nothing is left to send.
    pub(super) fn settle(&mut self) {
        for _ in 0..10_000 {
            self.callers.clock.advance(Duration::from_secs(2));
            while self.send() {}
            if self.in_flight.is_empty() {
                break;
            }
            while !self.in_flight.is_empty() {
                self.answer(ModelBroker::produce);
            }
        }
        assert!(
            self.send_queue.is_idle() && self.send_queue.oldest().is_none(),
            "it never comes to rest"
        );
    }
}

#[test]
fn after_any_failures_each_record_is_stored_once_and_in_order() {
    for seed in seeds(3_000) {
        let mut random = SeededRandom::new(seed);
        let mut world = World::of_any_broker(&mut random);
        for _ in 0..random.between(50, 300) {
            world.step(&mut random);
        }
        world.settle();
        world.check(seed);
    }
}

#[test]
fn exactly_the_records_that_are_too_large_alone_or_at_fault_fail() {
    let mut failures = 0;
    let seeds = seeds(1_000);
    let expected = if seeds.left() < 1_000 { 0 } else { 1_000 };
    for seed in seeds {
        let mut random = SeededRandom::new(seed);
        let mut world = World::of_any_broker(&mut random);
        for _ in 0..random.between(50, 300) {
            world.plain_step(&mut random);
        }
        world.settle();
        let hopeless = world.hopeless();
        if !hopeless.is_empty() {
            assert_eq!(world.reported().1, hopeless.len(), "seed {seed}");
        }
        world.check(seed);
        assert_eq!(world.failed(), hopeless, "seed {seed}");
        for &number in &world.large {
            let told = world.tickets[number].wait(Some(Duration::ZERO));
            let limit = world.broker.limit;
            assert!(
                matches!(told, Err(ClientError::MessageTooLarge { size, .. }) if size > limit),
                "seed {seed}: record {number}: {told:?}"
            );
        }
        failures += world.large.len();
    }
    assert!(failures >= expected, "only {failures} records were too large");
}

#[test]
fn a_rejected_batch_does_not_stop_later_ones() {
    let mut world = World::new();
    for _ in 0..30 {
        world.append();
    }
    while world.send() {}
    assert_eq!(world.in_flight.len(), 1, "a sequence starts with a single batch");
    world.answer(ModelBroker::produce);
    while world.send() {}
    assert_eq!(world.in_flight.len(), 5);
    world.answer(|_, _| Err(code(ErrorCode::InvalidRecord).into()));
    world.settle();
    let failed = world.failed().len();
    assert!(failed > 0);
    assert_eq!(world.broker.log.len() + failed, 30);
}

#[test]
fn records_that_are_not_at_fault_are_stored_before_later_ones() {
    let mut world = World::new();
    world.broker.fault_every = Some(4);
    for _ in 0..30 {
        world.append();
    }
    world.settle();
    assert_eq!(world.failed(), [3, 7, 11, 15, 19, 23, 27]);
    let stored: Vec<u64> = (0..30).filter(|number| number % 4 != 3).collect();
    assert_eq!(world.broker.log, stored);
    world.check(0);
}

#[test]
fn records_that_are_all_at_fault_fail_with_their_own_messages() {
    let mut world = World::new();
    for _ in 0..3 {
        world.append();
    }
    assert!(world.send() && world.send());
    world.answer(|_, _| {
        let record = |batch_index: i32| {
            let message = Some(format!("record {batch_index} has no key"));
            RecordError { batch_index, message }
        };
        let row = produce::Partition {
            error_code: ErrorCode::InvalidRecord,
            record_errors: (0..3).map(record).collect(),
            error_message: Some("3 records have no key".to_owned()),
            ..Default::default()
        };
        Err(Refused::of(&row, "t-0"))
    });
    let outcomes = world.tickets.iter().map(|ticket| ticket.outcome().unwrap().unwrap_err());
    for (index, error) in outcomes.enumerate() {
        let message = error.to_string();
        assert!(message.ends_with(&format!("record {index} has no key")), "{message}");
    }
    world.append();
    world.settle();
    assert_eq!(world.failed(), [0, 1, 2]);
    assert_eq!(world.broker.log, [3]);
}

#[test]
fn places_outside_the_batch_name_no_record() {
    let mut world = World::new();
    for _ in 0..5 {
        world.append();
    }
    assert!(world.send() && world.send());
    world.answer(|_, _| {
        let record = |batch_index| RecordError { batch_index, message: None };
        let row = produce::Partition {
            error_code: ErrorCode::InvalidRecord,
            record_errors: [-1, 1, 1_000, 1].map(record).to_vec(),
            ..Default::default()
        };
        Err(Refused::of(&row, "t-0"))
    });
    world.settle();
    assert_eq!(world.failed(), [1]);
    assert_eq!(world.broker.log, [0, 2, 3, 4]);
}

#[test]
fn records_after_batches_that_expired_one_by_one_are_stored() {
    let mut world = World::with_sizes(1, usize::MAX, Compression::None);
    world.append();
    world.settle();
    for _ in 0..2 {
        world.append();
        world.callers.clock.advance(Duration::from_secs(2));
    }
    while world.send() {}
    assert_eq!(world.in_flight.len(), 2);
    while !world.in_flight.is_empty() {
        world.answer(|_, _| Err(code(ErrorCode::NotLeaderOrFollower).into()));
    }
    world.callers.clock.advance(DELIVERY_TIMEOUT.saturating_sub(Duration::from_secs(3)));
    for expired in 1..3 {
        world.expire();
        assert_eq!(world.tickets.iter().filter(|ticket| ticket.is_done()).count(), 1 + expired);
        world.callers.clock.advance(Duration::from_secs(2));
    }
    world.append();
    world.settle();
    assert_eq!(world.failed(), [1, 2]);
    assert_eq!(world.broker.log, [0, 3]);
}

#[test]
fn records_after_abandoned_batches_are_stored() {
    let mut world = World::with_sizes(1, usize::MAX, Compression::None);
    world.append();
    world.settle();
    world.append();
    assert!(world.send());
    world.answer(|_, _| Err(code(ErrorCode::NotLeaderOrFollower).into()));
    let settled = world.send_queue.abandon(&code(ErrorCode::ClusterAuthorizationFailed));
    world.close(&settled);
    world.append();
    world.settle();
    assert_eq!(world.failed(), [1]);
    assert_eq!(world.broker.log, [0, 2]);
}

#[test]
fn a_batch_acknowledged_out_of_order_does_not_reorder_retries() {
    let mut world = World::with_sizes(1, usize::MAX, Compression::None);
    world.append();
    world.settle();
    for _ in 0..3 {
        world.append();
    }
    while world.send() {}
    assert_eq!(world.in_flight.len(), 3);
    world.answer_to(2, ModelBroker::produce);
    world.break_connection(0);
    world.settle();
    assert_eq!(world.failed(), [0; 0]);
    assert_eq!(world.broker.log, [0, 1, 2, 3]);
}

#[test]
fn nothing_is_sent_to_a_new_leader_before_the_old_one_has_answered_everything() {
    let mut world = World::with_sizes(1, usize::MAX, Compression::None);
    world.append();
    world.settle();
    for _ in 0..4 {
        world.append();
    }
    assert!(world.send() && world.send());
    world.leader = LEADERS[1].parse().unwrap();
    assert!(!world.send());
    world.answer(ModelBroker::produce);
    assert!(!world.send());
    world.answer(ModelBroker::produce);
    assert!(world.send() && world.send());
    world.settle();
    assert_eq!(world.broker.log, [0, 1, 2, 3, 4]);
}
