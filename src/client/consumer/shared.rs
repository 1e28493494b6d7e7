//! What a consumer's callers and its tasks share: what is read, what has arrived, and how far the
//! callers are.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;

use super::assignment::{Assignment, Slot, Target};
use super::changes::{Change, Changes};
use super::config::{ConsumerConfig, Start};
use super::fetching::{Arrivals, Chunk, Source, Taken};
use super::message::Message;
use super::readers::{InHand, Readers, Reading};
use super::sink::Sink;
use crate::client::ClientError;
use crate::client::cluster::Brokers;
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
    /// Locked before the assignment and the arrivals, and after no lock.
    readers: Readers,
    is_ending: AtomicBool,
    /// Nothing is given out until the next assignment.
    is_holding: AtomicBool,
    changes: Changes,
}

/// What a call asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The stream, 0 if there are none.
    pub(crate) stream: usize,
    /// By slot: messages at its end or beyond are not given out.
    pub(crate) ends: &'a [Option<Offset>],
    /// Whether what was given out before is still in hand.
    pub(crate) goes_on: bool,
}

impl Wanted<'_> {
    /// Where giving out of this slot ends.
    fn end(&self, slot: usize) -> Option<Offset> {
        self.ends.get(slot).copied().flatten()
    }

    /// The next message of all.
    pub(crate) const ANY: Self = Self { stream: 0, ends: &[], goes_on: false };
    /// The next message of all, behind those that were given out before.
    pub(crate) const MORE: Self = Self { goes_on: true, ..Self::ANY };
}

impl Shared {
    /// A consumer that reads nothing yet.
    pub(crate) fn new(brokers: Arc<Brokers>, config: ConsumerConfig, follows_topics: bool) -> Self {
        Self {
            changes: Changes::new(config.reports_changes),
            config,
            brokers,
            assignment: Assignment::default(),
            arrivals: Arrivals::default(),
            work: Notify::new(),
            follows_topics,
            readers: Readers::default(),
            is_ending: AtomicBool::new(false),
            is_holding: AtomicBool::new(false),
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

    /// For each stream, whether more may be fetched. What rests takes nothing from the others.
    pub(crate) fn room(&self, slots: &[Slot]) -> Vec<bool> {
        let streams = self.assignment.streams();
        let mut held = vec![0_usize; streams];
        for (slot, bytes) in slots.iter().zip(self.arrivals.bytes()) {
            if !slot.is_paused {
                held[slot.stream % streams] += bytes;
            }
        }
        let limit = usize::try_from(self.config.buffer.0).unwrap_or(usize::MAX) / streams;
        held.into_iter().map(|bytes| bytes < limit.max(1)).collect()
    }

    /// The next message that is wanted, if there is one already. A slot that has reached its end
    /// rests.
    pub(crate) fn try_next(&self, wanted: Wanted<'_>) -> Result<Option<Message>, ClientError> {
        let mut reading = self.turn(wanted)?;
        if self.is_holding() {
            return Ok(None);
        }
        loop {
            let Some(mut chunk) = self.chunk(&mut reading, wanted.stream)? else { return Ok(None) };
            let end = wanted.end(chunk.slot);
            match chunk.next_below(end, &mut reading.decompressor) {
                Some(Ok(message)) => {
                    let (slot, generation) = (chunk.slot, chunk.generation);
                    reading.hold(InHand { slot, generation, offset: message.offset() });
                    reading.chunk = Some(chunk);
                    return Ok(Some(message));
                }
                Some(Err(error)) => {
                    self.refuse(&mut reading, &chunk);
                    return Err(error);
                }
                None => self.finish_chunk(chunk, end),
            }
        }
    }

    /// Gives the sink what is wanted and there already, until it is full. An error that comes
    /// behind records is left for the next call.
    pub(crate) fn try_read_into(
        &self,
        wanted: Wanted<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), ClientError> {
        let mut reading = self.turn(wanted)?;
        if self.is_holding() {
            return Ok(());
        }
        let before = sink.count();
        match self.read_on(&mut reading, wanted, sink) {
            Err(error) if sink.count() > before => {
                self.arrivals.fail(error);
                Ok(())
            }
            read => read,
        }
    }

    fn read_on(
        &self,
        reading: &mut Reading,
        wanted: Wanted<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), ClientError> {
        while !sink.is_full() {
            let Some(mut chunk) = self.chunk(reading, wanted.stream)? else { break };
            let end = wanted.end(chunk.slot);
            let (before, offset) = (sink.count(), chunk.position());
            let read = chunk.read_into(end, &mut reading.decompressor, sink);
            if sink.count() > before {
                let (slot, generation) = (chunk.slot, chunk.generation);
                reading.hold(InHand { slot, generation, offset });
            }
            match read {
                Ok(true) => reading.chunk = Some(chunk),
                Ok(false) => self.finish_chunk(chunk, end),
                Err(error) => {
                    self.refuse(reading, &chunk);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Takes back what is in hand, as if it had not been given out.
    pub(crate) fn take_back(&self, wanted: Wanted<'_>) {
        let in_hand = mem::take(&mut self.readers.place(wanted.stream).in_hand);
        for InHand { slot, generation, offset } in in_hand {
            if !self.assignment.has_moved(slot, generation) {
                self.seek(slot, Start::Offset(offset));
                if wanted.end(slot).is_some() {
                    // It may rest at its end.
                    self.set_paused(slot, false);
                }
            }
        }
    }

    /// Parts the reading into so many streams; false if it has begun.
    pub(crate) fn part(&self, streams: usize) -> bool {
        let is_parted = self.readers.part(streams);
        if is_parted {
            self.assignment.deal_to(streams);
        }
        is_parted
    }

    /// Ends all reading once what is in hand is done with.
    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.arrivals.changed().wake_all();
    }

    /// Gives out nothing more until the next assignment. What was given out before is in hand, or
    /// done with, once this returns: a commit behind it misses none of it.
    pub(crate) fn hold(&self) {
        let _places = self.readers.all();
        self.is_holding.store(true, Ordering::Release);
    }

    fn is_holding(&self) -> bool {
        self.is_holding.load(Ordering::Acquire)
    }

    /// Whether partitions came or went that nobody was told of.
    pub(crate) fn has_changes(&self) -> bool {
        self.changes.are_pending()
    }

    /// The partitions that came and went since the last time.
    pub(crate) fn take_changes(&self) -> Option<Change> {
        self.changes.take()
    }

    /// The slots as they are, with the callers' positions.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        self.slots_by(&self.readers.all())
    }

    /// How far the messages given out reach.
    pub(crate) fn received(&self) -> Vec<(TopicPartition, Offset)> {
        positions(self.slots())
    }

    /// How far the messages reach that a caller is done with: all but those of the last turn.
    pub(crate) fn processed(&self) -> Vec<(TopicPartition, Offset)> {
        let readers = self.readers.all();
        let mut slots = self.slots_by(&readers);
        for &InHand { slot, generation, offset } in readers.iter().flat_map(|r| &r.in_hand) {
            let slot = &mut slots[slot];
            if slot.generation == generation {
                slot.position = slot.position.map(|position| position.min(offset));
            }
        }
        positions(slots)
    }

    /// What was given out is done with, though nobody asks for more.
    pub(crate) fn finish(&self) {
        for mut reading in self.readers.all() {
            reading.turn();
        }
    }

    /// What was given out below these offsets is done with.
    pub(crate) fn finish_below(&self, offsets: &[(TopicPartition, Offset)]) {
        let mut readers = self.readers.all();
        for (partition, offset) in offsets {
            let Some(slot) = self.assignment.slot_of(partition) else { continue };
            for reading in &mut readers {
                reading.turn_below(slot, *offset);
            }
        }
    }

    /// Goes on at `start` in one slot.
    pub(crate) fn seek(&self, slot: usize, start: Start) {
        self.assignment.seek(slot, start);
        self.forget_moved();
        self.work.notify_one();
    }

    /// Lets a slot rest, or go on.
    pub(crate) fn set_paused(&self, slot: usize, is_paused: bool) {
        self.assignment.set_paused(slot, is_paused);
        if is_paused {
            for mut reading in self.readers.all() {
                if let Some(chunk) = reading.chunk.take_if(|chunk| chunk.slot == slot) {
                    self.leave(&chunk);
                    self.arrivals.put_back(chunk, |chunk| self.has_moved(chunk));
                }
            }
        }
        self.work.notify_one();
        self.arrivals.changed().wake_all();
    }

    /// Reads these partitions from their starts, and no others any more.
    pub(crate) fn assign(&self, partitions: Vec<(TopicPartition, Start)>) {
        // A reader does not ask whether the chunk in its place has moved, so nothing is given out
        // until the chunks of the former assignment are gone.
        self.is_holding.store(true, Ordering::Release);
        let before = self.assignment.assigned();
        self.assignment.replace(partitions);
        self.changes.add(before, self.assignment.assigned());
        self.forget_moved();
        self.is_holding.store(false, Ordering::Release);
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

    /// Forgets what was fetched before the last seek or assignment. Whoever takes a chunk looks at
    /// the assignment while holding the place of its stream: what was taken before the change is
    /// found here, and what is taken after it is current.
    fn forget_moved(&self) {
        self.arrivals.purge(|chunk| self.has_moved(chunk));
        for mut reading in self.readers.all() {
            reading.chunk.take_if(|chunk| self.has_moved(chunk));
        }
    }

    /// Whether a chunk was fetched before the last seek or assignment.
    pub(crate) fn has_moved(&self, chunk: &Chunk) -> bool {
        self.assignment.has_moved(chunk.slot, chunk.generation)
    }

    /// The place of a caller who asks for what comes next.
    fn turn(&self, wanted: Wanted<'_>) -> Result<MutexGuard<'_, Reading>, ClientError> {
        let mut reading = self.readers.place(wanted.stream);
        if !wanted.goes_on {
            reading.turn();
        }
        if self.is_ending.load(Ordering::Acquire) {
            return Err(ClientError::Closed);
        }
        Ok(reading)
    }

    /// The chunk that is being read, or the next one.
    fn chunk(&self, reading: &mut Reading, stream: usize) -> Result<Option<Chunk>, ClientError> {
        match reading.chunk.take() {
            None => self.take_chunk(stream),
            current => Ok(current),
        }
    }

    fn take_chunk(&self, stream: usize) -> Result<Option<Chunk>, ClientError> {
        let is_wanted =
            |chunk: &Chunk| self.assignment.is_for(stream, chunk.slot, chunk.generation);
        match self.arrivals.take(is_wanted)? {
            Taken::Chunk(chunk) => {
                self.work.notify_one();
                Ok(Some(chunk))
            }
            Taken::Nothing => Ok(None),
        }
    }

    /// Done with a chunk, or for now: the position is where it stands.
    fn leave(&self, chunk: &Chunk) {
        self.assignment.update(chunk.slot, chunk.generation, |slot| {
            slot.position = Some(chunk.position());
        });
    }

    /// Gives a partition up whose records are damaged where the chunk stands. What was fetched
    /// behind them is forgotten: the caller would miss the sound ones between.
    fn refuse(&self, reading: &mut Reading, chunk: &Chunk) {
        let (slot, generation) = (chunk.slot, chunk.generation);
        if let Some(next) = self.assignment.refuse(slot, generation, chunk.position()) {
            reading.carry_over(slot, (generation, next));
            self.arrivals.purge(|chunk| self.has_moved(chunk));
            self.work.notify_one();
        }
    }

    /// Gives a partition up with an error, until it is sought elsewhere.
    pub(crate) fn stop(&self, source: &Source, error: ClientError) {
        self.arrivals.fail_if(error, || {
            let mut is_current = false;
            self.assignment.update(source.slot, source.generation, |slot| {
                slot.target = Target::Stopped;
                is_current = true;
            });
            is_current
        });
    }

    /// Nothing is left of a chunk below `end`. A slot that has reached its end rests.
    fn finish_chunk(&self, chunk: Chunk, end: Option<Offset>) {
        self.leave(&chunk);
        if end.is_some_and(|end| chunk.position() >= end) {
            self.assignment.set_paused(chunk.slot, true);
            self.arrivals.put_back(chunk, |chunk| self.has_moved(chunk));
        }
    }

    fn slots_by(&self, readers: &[MutexGuard<'_, Reading>]) -> Vec<Slot> {
        let mut slots = self.assignment.snapshot();
        for chunk in readers.iter().filter_map(|reading| reading.chunk.as_ref()) {
            if slots[chunk.slot].generation == chunk.generation {
                slots[chunk.slot].position = Some(chunk.position());
            }
        }
        slots
    }
}

fn positions(slots: Vec<Slot>) -> Vec<(TopicPartition, Offset)> {
    let assigned = slots.into_iter().filter(|slot| slot.is_assigned);
    assigned.filter_map(|slot| Some((slot.partition, slot.position?))).collect()
}
