//! The consumer as its callers see it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::arrivals::{Arrivals, Taken};
use super::assignment::{Assignment, Slot, Target};
use super::chunk::Chunk;
use super::config::{ConsumerConfig, Start};
use super::fetcher::Fetcher;
use super::message::Message;
use super::until_end::UntilEnd;
use crate::client::cluster::Brokers;
use crate::client::error::topic_name;
use crate::client::handle::Core;
use crate::client::offsets::{Asked, list_offsets};
use crate::client::waiting::Waiter;
use crate::client::{ClientError, FoundOffset};
use crate::io::Gate;
use crate::record::Decompressor;
use crate::types::{Offset, PartitionIndex, TopicName, TopicPartition};
use crate::wire::list_offsets as at;

/// Reads records of the partitions it was made for; keeps no position anywhere but here.
///
/// May be used from several threads: each message is given out once. `close` from any thread ends
/// the waits of all others.
#[derive(Debug)]
pub struct Consumer {
    core: Arc<Core>,
    shared: Arc<Shared>,
    reading: Mutex<Reading>,
    task: AbortHandle,
}

/// What callers and the fetching task share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: ConsumerConfig,
    pub(crate) brokers: Arc<Brokers>,
    pub(crate) assignment: Assignment,
    pub(crate) arrivals: Arrivals,
    /// Rings when there is something to fetch: room, or another place.
    pub(crate) work: Notify,
    /// Whether partitions that come into being are read too.
    follows_topics: bool,
}

/// Where the callers are.
#[derive(Debug, Default)]
struct Reading {
    chunk: Option<Chunk>,
    decompressor: Decompressor,
}

impl Consumer {
    /// All partitions of `topics`, from where `config` says.
    pub(crate) fn of_topics(
        core: Arc<Core>,
        topics: &[&str],
        config: ConsumerConfig,
    ) -> Result<Self, ClientError> {
        let names: Result<Vec<TopicName>, ClientError> =
            topics.iter().map(|topic| topic_name(topic)).collect();
        let names = names?;
        let counts = find(&core, names.clone(), config.auto_create_topics)?;
        let mut partitions = Vec::new();
        for (topic, count) in names.into_iter().zip(counts) {
            for index in 0..count {
                let partition = PartitionIndex(i32::try_from(index).unwrap_or(i32::MAX));
                partitions.push((TopicPartition { topic: topic.clone(), partition }, config.start));
            }
        }
        Ok(Self::start(core, partitions, config, true))
    }

    /// Some partitions, each from its own start.
    pub(crate) fn of_partitions(
        core: Arc<Core>,
        partitions: &[(TopicPartition, Start)],
        config: ConsumerConfig,
    ) -> Result<Self, ClientError> {
        let mut names: Vec<TopicName> =
            partitions.iter().map(|(partition, _)| partition.topic.clone()).collect();
        names.sort();
        names.dedup();
        let counts = find(&core, names.clone(), config.auto_create_topics)?;
        for (partition, _) in partitions {
            let place = names.iter().position(|name| *name == partition.topic);
            let count = place.map_or(0, |place| counts[place]);
            if !usize::try_from(partition.partition.0).is_ok_and(|index| index < count) {
                return Err(ClientError::TopicNotFound { topic: partition.to_string() });
            }
        }
        Ok(Self::start(core, partitions.to_vec(), config, false))
    }

    fn start(
        core: Arc<Core>,
        partitions: Vec<(TopicPartition, Start)>,
        config: ConsumerConfig,
        follows_topics: bool,
    ) -> Self {
        let assignment = Assignment::default();
        for (partition, start) in partitions {
            assignment.add(partition, start);
        }
        let shared = Arc::new(Shared {
            config,
            brokers: Arc::clone(&core.brokers),
            assignment,
            arrivals: Arrivals::default(),
            work: Notify::new(),
            follows_topics,
        });
        let task = core.brokers.tasks().start(Fetcher::new(Arc::clone(&shared)).run());
        Self { core, shared, reading: Mutex::default(), task }
    }

    /// The next message, waiting for it up to `timeout` (`None` is for ever). `Ok(None)` when the
    /// time is over.
    ///
    /// # Errors
    /// [`ClientError::Closed`] once it is closed; [`ClientError::OffsetOutOfRange`] and
    /// [`ClientError::Damaged`] of a partition, which rests until it is sought elsewhere while the
    /// others go on.
    pub fn next(&self, timeout: Option<Duration>) -> Result<Option<Message>, ClientError> {
        if let Some(message) = self.try_next()? {
            return Ok(Some(message));
        }
        let attempt = || self.try_next().transpose();
        let gate = self.shared.arrivals.changed();
        self.core.waiter.wait(gate, timeout, attempt)?.transpose()
    }

    /// The next message if there is one already.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn try_next(&self) -> Result<Option<Message>, ClientError> {
        self.try_next_below(&[])
    }

    /// Up to `count` messages: waits up to `timeout` for the first, and takes with it those that
    /// are there already.
    ///
    /// # Errors
    /// As [`next`](Self::next), if there was no message before the error.
    pub fn next_batch(
        &self,
        count: usize,
        timeout: Option<Duration>,
    ) -> Result<Vec<Message>, ClientError> {
        let mut messages = Vec::new();
        if count == 0 {
            return Ok(messages);
        }
        messages.extend(self.next(timeout)?);
        while !messages.is_empty() && messages.len() < count {
            match self.try_next() {
                Ok(Some(message)) => messages.push(message),
                // An error is met again by the next call, since its partition rests.
                Ok(None) | Err(ClientError::Closed) => break,
                Err(error) => {
                    self.shared.arrivals.fail(error);
                    break;
                }
            }
        }
        Ok(messages)
    }

    /// All messages, for ever: ends only when the consumer is closed, or after an error.
    pub fn iter(&self) -> impl Iterator<Item = Result<Message, ClientError>> {
        std::iter::from_fn(move || match self.next(None) {
            Ok(message) => message.map(Ok),
            Err(ClientError::Closed) => None,
            Err(error) => Some(Err(error)),
        })
    }

    /// Everything up to the end of each partition as it is now.
    ///
    /// # Errors
    /// Those of asking for the ends.
    pub fn until_end(&self) -> Result<UntilEnd<&Self>, ClientError> {
        UntilEnd::of(self)
    }

    /// Goes on at `start` in every partition.
    pub fn seek_all(&self, start: Start) {
        for (partition, _) in self.positions() {
            // Partitions do not leave an assignment.
            let _ = self.seek(&partition, start);
        }
    }

    /// Goes on at `start` in one partition.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] when the consumer does not read it.
    pub fn seek(&self, partition: &TopicPartition, start: Start) -> Result<(), ClientError> {
        let slot = self.slot_of(partition)?;
        let mut reading = self.reading();
        self.shared.assignment.seek(slot, start);
        self.shared.arrivals.purge(slot);
        reading.chunk.take_if(|chunk| chunk.slot == slot);
        self.shared.work.notify_one();
        Ok(())
    }

    /// Lets a partition rest, or go on. What was fetched of it stays.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] when the consumer does not read it.
    pub fn set_paused(
        &self,
        partition: &TopicPartition,
        is_paused: bool,
    ) -> Result<(), ClientError> {
        let slot = self.slot_of(partition)?;
        self.set_slot_paused(slot, is_paused);
        Ok(())
    }

    /// The offset that is read next in each partition; `None` until it is known.
    pub fn positions(&self) -> Vec<(TopicPartition, Option<Offset>)> {
        self.slots().into_iter().map(|slot| (slot.partition, slot.position)).collect()
    }

    /// The end of what can be read of each partition now.
    ///
    /// # Errors
    /// Those of reaching the leaders.
    pub fn end_offsets(&self) -> Result<Vec<FoundOffset>, ClientError> {
        let slots = self.shared.assignment.snapshot();
        let row = |slot: Slot| Asked { partition: slot.partition, at: at::LATEST };
        let asked: Vec<Asked> = slots.into_iter().map(row).collect();
        let brokers = Arc::clone(&self.shared.brokers);
        self.core.run(async move {
            let timeout = brokers.config().timeout;
            let deadline = brokers.deadline("looking up end offsets", timeout);
            list_offsets(&brokers, deadline, &asked).await
        })
    }

    /// How far the end lies beyond the position in each partition, by the last answers: no broker
    /// is asked. `None` until both are known. Topics that count bytes lag by bytes.
    pub fn lag(&self) -> Vec<(TopicPartition, Option<i64>)> {
        let row = |slot: Slot| {
            let known = slot.high_watermark.zip(slot.position);
            (slot.partition, known.map(|(end, position)| end.since(position).max(0)))
        };
        self.slots().into_iter().map(row).collect()
    }

    /// Ends all waits and all fetching. Doing it again does nothing.
    pub fn close(&self) {
        self.shared.arrivals.close();
        self.task.abort();
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.shared.arrivals.is_closed()
    }

    /// The next message, if there is one already, below the end that `ends` has for its slot.
    /// A slot that has reached its end rests.
    pub(super) fn try_next_below(
        &self,
        ends: &[Option<Offset>],
    ) -> Result<Option<Message>, ClientError> {
        let mut reading = self.reading();
        loop {
            let arrived = match reading.chunk.take() {
                None => self.take_chunk()?,
                current => current,
            };
            let Some(mut chunk) = arrived else { return Ok(None) };
            let end = ends.get(chunk.slot).copied().flatten();
            match chunk.next_below(end, &mut reading.decompressor) {
                Some(Ok(message)) => {
                    reading.chunk = Some(chunk);
                    return Ok(Some(message));
                }
                Some(Err(error)) => {
                    self.leave(&chunk, Some(Target::Stopped));
                    return Err(error);
                }
                None => {
                    self.leave(&chunk, None);
                    if end.is_some_and(|end| chunk.position() >= end) {
                        self.shared.assignment.set_paused(chunk.slot, true);
                        self.shared.arrivals.put_back(chunk);
                    }
                }
            }
        }
    }

    /// The slots as they are, with the callers' positions.
    pub(super) fn slots(&self) -> Vec<Slot> {
        let reading = self.reading();
        let mut slots = self.shared.assignment.snapshot();
        if let Some(chunk) = &reading.chunk {
            slots[chunk.slot].position = Some(chunk.position());
        }
        slots
    }

    pub(super) fn gate(&self) -> &Gate {
        self.shared.arrivals.changed()
    }

    pub(super) fn waiter(&self) -> &Waiter {
        &self.core.waiter
    }

    pub(super) fn set_slot_paused(&self, slot: usize, is_paused: bool) {
        let mut reading = self.reading();
        self.shared.assignment.set_paused(slot, is_paused);
        if is_paused && let Some(chunk) = reading.chunk.take_if(|chunk| chunk.slot == slot) {
            self.shared.arrivals.put_back(chunk);
        }
        self.shared.work.notify_one();
        self.shared.arrivals.changed().wake_all();
    }

    fn slot_of(&self, partition: &TopicPartition) -> Result<usize, ClientError> {
        let slot = self.shared.assignment.slot_of(partition);
        slot.ok_or_else(|| ClientError::TopicNotFound { topic: partition.to_string() })
    }

    fn take_chunk(&self) -> Result<Option<Chunk>, ClientError> {
        let shared = &self.shared;
        let assignment = &shared.assignment;
        let taken =
            shared.arrivals.take(|chunk| assignment.is_current(chunk.slot, chunk.generation));
        match taken? {
            Taken::Chunk(chunk) => {
                shared.work.notify_one();
                Ok(Some(chunk))
            }
            Taken::Nothing => Ok(None),
        }
    }

    /// Done with a chunk: the position is where it ended.
    fn leave(&self, chunk: &Chunk, target: Option<Target>) {
        self.shared.assignment.update(chunk.slot, chunk.generation, |slot| {
            slot.position = Some(chunk.position());
            slot.target = target.unwrap_or(slot.target);
        });
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// The monotonic time.
    pub(crate) fn now(&self) -> Duration {
        self.brokers.clock().monotonic()
    }

    /// Whether more may be fetched.
    pub(crate) fn has_room(&self) -> bool {
        let limit = usize::try_from(self.config.buffer.0).unwrap_or(usize::MAX);
        self.arrivals.bytes() < limit
    }

    /// Topics may have grown.
    pub(crate) fn grow(&self) {
        let topology = self.brokers.topology();
        for (name, count) in self.assignment.counts() {
            let partitions = topology.topic(&name).map_or(0, |info| info.partitions.len());
            if self.follows_topics {
                self.assignment.grow(&name, count, partitions);
            }
        }
    }

    pub(crate) fn metadata_max_age(&self) -> Duration {
        self.brokers.config().metadata_max_age
    }
}

/// How many partitions each topic has.
fn find(core: &Core, names: Vec<TopicName>, may_create: bool) -> Result<Vec<usize>, ClientError> {
    let brokers = Arc::clone(&core.brokers);
    let deadline = brokers.deadline("finding topics", brokers.config().timeout);
    core.run(async move {
        let mut counts = Vec::with_capacity(names.len());
        for name in &names {
            let looking = || brokers.topic(name, may_create);
            counts.push(brokers.until(deadline, &[], looking).await?.partitions.len());
        }
        Ok(counts)
    })
}
