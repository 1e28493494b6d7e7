//! What a consumer's callers and its tasks share: what is read, what has arrived, and how far the
//! callers are.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::arrivals::{Arrivals, Taken};
use super::assignment::{Assignment, Slot, Target};
use super::chunk::Chunk;
use super::config::{ConsumerConfig, Start};
use super::message::Message;
use crate::client::ClientError;
use crate::client::cluster::Brokers;
use crate::record::Decompressor;
use crate::types::{Offset, TopicPartition};

/// The shared state of a consumer.
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
    /// Taken before the locks of the assignment and the arrivals.
    reading: Mutex<Reading>,
}

/// Where the callers are.
#[derive(Debug, Default)]
struct Reading {
    chunk: Option<Chunk>,
    decompressor: Decompressor,
    /// The message given out last, while nobody has asked for another.
    in_hand: Option<InHand>,
}

#[derive(Clone, Copy, Debug)]
struct InHand {
    slot: usize,
    generation: u32,
    offset: Offset,
}

impl Shared {
    /// A consumer that reads nothing yet.
    pub(crate) fn new(brokers: Arc<Brokers>, config: ConsumerConfig, follows_topics: bool) -> Self {
        Self {
            config,
            brokers,
            assignment: Assignment::default(),
            arrivals: Arrivals::default(),
            work: Notify::new(),
            follows_topics,
            reading: Mutex::default(),
        }
    }

    /// The monotonic time.
    pub(crate) fn now(&self) -> Duration {
        self.brokers.clock().monotonic()
    }

    /// How old what is known of topics may be.
    pub(crate) fn metadata_max_age(&self) -> Duration {
        self.brokers.config().metadata_max_age
    }

    /// Whether more may be fetched.
    pub(crate) fn has_room(&self) -> bool {
        let limit = usize::try_from(self.config.buffer.0).unwrap_or(usize::MAX);
        self.arrivals.bytes() < limit
    }

    /// The next message, if there is one already, below the end that `ends` has for its slot.
    /// A slot that has reached its end rests.
    pub(crate) fn try_next_below(
        &self,
        ends: &[Option<Offset>],
    ) -> Result<Option<Message>, ClientError> {
        let mut reading = self.reading();
        reading.in_hand = None;
        loop {
            let arrived = match reading.chunk.take() {
                None => self.take_chunk()?,
                current => current,
            };
            let Some(mut chunk) = arrived else { return Ok(None) };
            let end = ends.get(chunk.slot).copied().flatten();
            match chunk.next_below(end, &mut reading.decompressor) {
                Some(Ok(message)) => {
                    let (slot, generation) = (chunk.slot, chunk.generation);
                    reading.in_hand = Some(InHand { slot, generation, offset: message.offset() });
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
                        self.assignment.set_paused(chunk.slot, true);
                        self.arrivals.put_back(chunk);
                    }
                }
            }
        }
    }

    /// The slots as they are, with the callers' positions.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        self.slots_by(&self.reading())
    }

    /// How far the messages given out reach.
    pub(crate) fn received(&self) -> Vec<(TopicPartition, Offset)> {
        positions(self.slots())
    }

    /// How far the messages reach that a caller is done with: all given out but the last.
    pub(crate) fn processed(&self) -> Vec<(TopicPartition, Offset)> {
        let reading = self.reading();
        let mut slots = self.slots_by(&reading);
        if let Some(InHand { slot, generation, offset }) = reading.in_hand
            && slots[slot].generation == generation
        {
            slots[slot].position = Some(offset);
        }
        positions(slots)
    }

    /// Goes on at `start` in one slot.
    pub(crate) fn seek(&self, slot: usize, start: Start) {
        let mut reading = self.reading();
        self.assignment.seek(slot, start);
        self.arrivals.purge(|chunk| chunk.slot == slot);
        reading.chunk.take_if(|chunk| chunk.slot == slot);
        self.work.notify_one();
    }

    /// Lets a slot rest, or go on.
    pub(crate) fn set_paused(&self, slot: usize, is_paused: bool) {
        let mut reading = self.reading();
        self.assignment.set_paused(slot, is_paused);
        if is_paused && let Some(chunk) = reading.chunk.take_if(|chunk| chunk.slot == slot) {
            self.leave(&chunk, None);
            self.arrivals.put_back(chunk);
        }
        drop(reading);
        self.work.notify_one();
        self.arrivals.changed().wake_all();
    }

    /// Reads these partitions from their starts, and no others any more.
    pub(crate) fn assign(&self, partitions: Vec<(TopicPartition, Start)>) {
        let mut reading = self.reading();
        self.assignment.replace(partitions);
        self.arrivals.purge(|_| true);
        reading.chunk = None;
        reading.in_hand = None;
        drop(reading);
        self.work.notify_one();
        self.arrivals.changed().wake_all();
    }

    /// Topics may have grown.
    pub(crate) fn grow(&self) {
        if !self.follows_topics {
            return;
        }
        let topology = self.brokers.topology();
        for (name, count) in self.assignment.counts() {
            let partitions = topology.topic(&name).map_or(0, |info| info.partitions.len());
            self.assignment.grow(&name, count, partitions);
        }
    }

    fn take_chunk(&self) -> Result<Option<Chunk>, ClientError> {
        let is_current = |chunk: &Chunk| self.assignment.is_current(chunk.slot, chunk.generation);
        match self.arrivals.take(is_current)? {
            Taken::Chunk(chunk) => {
                self.work.notify_one();
                Ok(Some(chunk))
            }
            Taken::Nothing => Ok(None),
        }
    }

    /// Done with a chunk, or for now: the position is where it stands.
    fn leave(&self, chunk: &Chunk, target: Option<Target>) {
        self.assignment.update(chunk.slot, chunk.generation, |slot| {
            slot.position = Some(chunk.position());
            slot.target = target.unwrap_or(slot.target);
        });
    }

    fn slots_by(&self, reading: &Reading) -> Vec<Slot> {
        let mut slots = self.assignment.snapshot();
        if let Some(chunk) = &reading.chunk
            && slots[chunk.slot].generation == chunk.generation
        {
            slots[chunk.slot].position = Some(chunk.position());
        }
        slots
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn positions(slots: Vec<Slot>) -> Vec<(TopicPartition, Offset)> {
    let assigned = slots.into_iter().filter(|slot| slot.is_assigned);
    assigned.filter_map(|slot| Some((slot.partition, slot.position?))).collect()
}
