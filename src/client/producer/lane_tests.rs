//! Lanes and queues against a model of a broker: whatever goes wrong, nothing is stored twice, and
//! nothing out of order.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::lane::{Identity, Lane, Next, Packed};
use super::queue::{Appending, Due, Dues, Queue};
use super::room::Room;
use super::tickets::{Bells, Delivery, Landed, Ticket};
use super::undelivered::Undelivered;
use crate::client::bell::Bell;
use crate::client::cluster::Backoff;
use crate::client::waiting::Waiter;
use crate::client::{ClientConfig, ClientError};
use crate::io::{Clock, ManualClock, SeededRandom};
use crate::record::{Batch, BatchBuilder, Compressor, Decompressor, Limits};
use crate::types::{Offset, PartitionIndex, ProducerEpoch, ProducerId, Timestamp, TopicPartition};
use crate::wire::ErrorCode;

const DELIVERY_TIMEOUT: Duration = Duration::from_mins(1);

/// The callers' side: a queue, and a clock that stands still.
struct Callers {
    clock: Arc<ManualClock>,
    queue: Arc<Queue>,
    room: Arc<Room>,
    bells: Arc<Bells>,
    undelivered: Undelivered,
}

impl Callers {
    fn new(batch_size: usize) -> Self {
        let clock = Arc::new(ManualClock::default());
        let partition =
            TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) };
        let waiter = Waiter::new(Arc::clone(&clock) as Arc<dyn Clock>, None);
        Self {
            queue: Arc::new(Queue::new(partition, batch_size)),
            room: Room::new(1 << 20),
            bells: Arc::new(Bells { settled: Bell::default(), work: Notify::new(), waiter }),
            undelivered: Undelivered::default(),
            clock,
        }
    }

    fn append(&self, value: &[u8]) -> Ticket {
        let size = BatchBuilder::record_size_max(None, Some(value), &[]);
        assert!(self.room.try_take(size));
        let record = Appending {
            timestamp: Timestamp::from_millis(0),
            key: None,
            value: Some(value),
            headers: &[],
            size,
            window: None,
        };
        let open = |partition: &TopicPartition| {
            let bells = Arc::clone(&self.bells);
            let make = |ordinal| Delivery::new(partition.clone(), ordinal, bells);
            self.undelivered.open(make).map(|delivery| (delivery, self.clock.monotonic()))
        };
        self.queue.append(&record, &self.room, open).unwrap().ticket
    }

    fn dues(&self, linger_ms: u64) -> Dues {
        let linger = Duration::from_millis(linger_ms);
        Dues { now: self.clock.monotonic(), linger, flush_below: 0 }
    }

    fn lane(&self) -> Lane {
        let backoff = Backoff::new(&ClientConfig::default(), self.clock.as_ref());
        Lane::new(Arc::clone(&self.queue), true, 5, backoff)
    }
}

#[test]
fn a_batch_is_due_when_full_or_after_its_linger() {
    let callers = Callers::new(200);
    assert!(matches!(callers.queue.take_due(&callers.dues(5)), Due::Empty));
    callers.append(&[b'x'; 20]);
    let due_at = callers.clock.monotonic() + Duration::from_millis(5);
    let due = callers.queue.take_due(&callers.dues(5));
    assert!(matches!(due, Due::NotBefore(time) if time == due_at));
    callers.clock.advance(Duration::from_millis(5));
    assert!(matches!(callers.queue.take_due(&callers.dues(5)), Due::Batch(_)));

    for _ in 0..10 {
        callers.append(&[b'x'; 50]);
    }
    let mut counts = Vec::new();
    while let Due::Batch(batch) = callers.queue.take_due(&callers.dues(1_000)) {
        assert!(batch.builder.size() <= 200);
        counts.push(batch.builder.record_count());
    }
    assert_eq!(counts, [2, 2, 2, 2], "the last two wait for more");
}

#[test]
fn a_batch_somebody_waits_for_or_flushes_does_not_linger() {
    let callers = Callers::new(1_000);
    let ticket = callers.append(b"x");
    assert!(matches!(callers.queue.take_due(&callers.dues(1_000)), Due::NotBefore(_)));
    assert!(ticket.wait(Some(Duration::ZERO)).is_err());
    assert!(matches!(callers.queue.take_due(&callers.dues(1_000)), Due::Batch(_)));

    callers.append(b"y");
    let flushing = Dues { flush_below: 2, ..callers.dues(1_000) };
    assert!(matches!(callers.queue.take_due(&flushing), Due::Batch(_)));
}

/// What a broker keeps of one partition.
#[derive(Default)]
struct ModelBroker {
    log: Vec<u64>,
    producers: HashMap<i64, VecDeque<(i32, i32)>>,
}

impl ModelBroker {
    fn produce(&mut self, bytes: &[u8]) -> Result<Landed, ClientError> {
        let batch = Batch::parse(bytes).unwrap();
        batch.check_checksum().unwrap();
        let stamp = batch.producer().unwrap();
        let (first, last) = (stamp.base_sequence, batch.last_sequence().unwrap());
        let known = self.producers.entry(stamp.id.0).or_default();
        if known.contains(&(first, last)) {
            return Ok(Landed { base_offset: Some(Offset::ZERO), log_append_time: None });
        }
        if known.back().is_some_and(|(_, end)| first != end + 1) {
            return Err(code(ErrorCode::OutOfOrderSequenceNumber));
        }
        known.push_back((first, last));
        if known.len() > 5 {
            known.pop_front();
        }
        let payload = batch.decompressed(&mut Decompressor::default()).unwrap();
        for record in batch.records(&payload, &Limits::default()) {
            let value = record.unwrap().value.unwrap().try_into().unwrap();
            self.log.push(u64::from_be_bytes(value));
        }
        Ok(Landed { base_offset: Some(Offset::ZERO), log_append_time: None })
    }
}

fn code(code: ErrorCode) -> ClientError {
    ClientError::from_code(code, "t-0", None)
}

/// A lane, the requests under way, and the broker at the other end.
struct World {
    callers: Callers,
    lane: Lane,
    broker: ModelBroker,
    under_way: VecDeque<Packed>,
    tickets: Vec<Ticket>,
    identities: i64,
}

impl World {
    fn new() -> Self {
        let callers = Callers::new(150);
        let lane = callers.lane();
        let (broker, under_way) = (ModelBroker::default(), VecDeque::new());
        Self { callers, lane, broker, under_way, tickets: Vec::new(), identities: 0 }
    }

    fn append(&mut self) {
        let number = self.tickets.len() as u64;
        self.tickets.push(self.callers.append(&number.to_be_bytes()));
    }

    /// Sends one batch if the lane has one.
    fn send(&mut self) -> bool {
        match self.lane.next(&self.callers.dues(0), &mut Compressor::none()) {
            Next::Send(batch) => {
                self.under_way.push_back(batch);
                true
            }
            Next::NeedsIdentity => {
                self.identities += 1;
                let id = ProducerId(self.identities);
                let identity = Identity { id, epoch: ProducerEpoch(0) };
                assert!(self.lane.accepts(identity));
                self.lane.adopt(identity);
                true
            }
            Next::NotBefore(_) | Next::Nothing => false,
        }
    }

    fn answer(
        &mut self,
        outcome: impl FnOnce(&mut ModelBroker, &[u8]) -> Result<Landed, ClientError>,
    ) {
        let Some(batch) = self.under_way.pop_front() else { return };
        let outcome = outcome(&mut self.broker, &batch.bytes);
        let now = self.callers.clock.monotonic();
        self.lane.returned(batch, outcome, now);
    }

    /// The connection breaks after the broker has taken in `taken` of the requests.
    fn break_connection(&mut self, taken: usize) {
        let lost = ClientError::unreachable("broker", "it hung up");
        for index in 0..self.under_way.len() {
            let lost = lost.clone();
            self.answer(|broker, bytes| {
                if index < taken {
                    // The outcome is lost with the connection.
                    let _ = broker.produce(bytes);
                }
                Err(lost)
            });
        }
    }

    fn step(&mut self, random: &mut SeededRandom) {
        match random.below(12) {
            0..4 => self.append(),
            4..7 => {
                self.send();
            }
            7 | 8 => self.answer(ModelBroker::produce),
            9 => match random.below(8) {
                0 => self.answer(|_, _| Err(code(ErrorCode::RecordListTooLarge))),
                1..4 => self.answer(|broker, bytes| {
                    broker.produce(bytes)?;
                    Err(code(ErrorCode::NotEnoughReplicasAfterAppend))
                }),
                _ => self.answer(|_, _| Err(code(ErrorCode::NotLeaderOrFollower))),
            },
            10 => self.break_connection(random.index(6)),
            _ => {
                self.callers.clock.advance(Duration::from_secs(random.below(20)));
                let now = self.callers.clock.monotonic();
                let late = ClientError::Timeout {
                    operation: "delivering",
                    elapsed: DELIVERY_TIMEOUT,
                    last_error: None,
                };
                self.lane.expire(now.saturating_sub(DELIVERY_TIMEOUT), &late);
            }
        }
    }

    /// Everything works again.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            self.callers.clock.advance(Duration::from_secs(2));
            while self.send() {}
            if self.under_way.is_empty() {
                break;
            }
            while !self.under_way.is_empty() {
                self.answer(ModelBroker::produce);
            }
        }
        assert!(self.lane.is_idle() && self.lane.oldest().is_none(), "it never comes to rest");
    }
}

#[test]
fn whatever_fails_each_record_is_stored_once_and_in_order() {
    for seed in 0..3_000 {
        let mut random = SeededRandom::new(seed);
        let mut world = World::new();
        for _ in 0..random.between(50, 300) {
            world.step(&mut random);
        }
        world.settle();
        let log = &world.broker.log;
        assert!(log.is_sorted_by(|one, other| one < other), "seed {seed}: {log:?}");
        for (number, ticket) in world.tickets.iter().enumerate() {
            assert!(ticket.is_done(), "seed {seed}: record {number} has no outcome");
            let is_delivered = ticket.wait(Some(Duration::ZERO)).is_ok();
            let is_stored = log.binary_search(&(number as u64)).is_ok();
            assert!(is_stored || !is_delivered, "seed {seed}: record {number} was lost");
        }
    }
}

#[test]
fn a_rejected_batch_does_not_stop_those_behind_it() {
    let mut world = World::new();
    for _ in 0..30 {
        world.append();
    }
    while world.send() {}
    assert_eq!(world.under_way.len(), 1, "a sequence begins with one batch");
    world.answer(ModelBroker::produce);
    while world.send() {}
    assert_eq!(world.under_way.len(), 5);
    world.answer(|_, _| Err(code(ErrorCode::RecordListTooLarge)));
    world.settle();
    let failed = world.tickets.iter().filter(|ticket| ticket.wait(Some(Duration::ZERO)).is_err());
    let failed = failed.count();
    assert!(failed > 0);
    assert_eq!(world.broker.log.len() + failed, 30);
}
