//! State shared by a consumer's callers and its tasks: the assignment, fetched records, and reading
//! positions.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;

use super::assignment::{Assignment, Slot, Target};
use super::changes::{Change, Changes};
use super::config::{ConsumerConfig, OutOfRange, Start};
use super::fetch_buffer::{Arrivals, Chunk, Source, Taken};
use super::message::Message;
use super::readers::{Readers, Reading, Unprocessed};
use super::sink::Sink;
use crate::client::ClientError;
use crate::client::cluster::Brokers;
use crate::types::{LeaderEpoch, Offset, TopicPartition};

/// The shared state of a consumer.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: ConsumerConfig,
    pub(crate) brokers: Arc<Brokers>,
    pub(crate) assignment: Assignment,
    pub(crate) arrivals: Arrivals,
    /// Wakes the fetch task when there is something to fetch: buffer space, or a new position.
    pub(crate) work: Notify,
    /// True if new partitions of the topics are read too.
    follows_topics: bool,
    /// Lock order: `readers` first, then the arrivals, then the assignment.
    readers: Readers,
    is_ending: AtomicBool,
    /// While true, no messages are returned; the next assignment ends this.
    is_suspended: AtomicBool,
    changes: Changes,
}

/// The options of a read call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The stream; 0 for a consumer that is not split.
    pub(crate) stream: usize,
    /// End offsets by slot: messages at or beyond them are not returned.
    pub(crate) ends: &'a [Option<Offset>],
    /// True if messages returned before stay unprocessed.
    pub(crate) goes_on: bool,
}

impl Wanted<'_> {
    /// The end offset of this slot.
    fn end(&self, slot: usize) -> Option<Offset> {
        self.ends.get(slot).copied().flatten()
    }

    /// The next message of any slot.
    pub(crate) const ANY: Self = Self { stream: 0, ends: &[], goes_on: false };
    /// The next message of any slot, leaving the messages returned before unprocessed.
    pub(crate) const MORE: Self = Self { goes_on: true, ..Self::ANY };
}

impl Shared {
    /// A consumer without an assignment.
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
            is_suspended: AtomicBool::new(false),
        }
    }

    /// The monotonic time.
    pub(crate) fn now(&self) -> Duration {
        self.brokers.clock().monotonic()
    }

    /// The age at which metadata is requested again.
    pub(crate) fn metadata_max_age(&self) -> Duration {
        self.brokers.config().metadata_max_age
    }

    /// Returns true for each stream for which more may be fetched. Paused slots do not count, so
    /// that their records do not block the others.
    pub(crate) fn streams_with_space(&self, slots: &[Slot]) -> Vec<bool> {
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

    /// Returns the next wanted message if one is available. A slot that has reached its end is
    /// paused.
    pub(crate) fn try_next(&self, wanted: Wanted<'_>) -> Result<Option<Message>, ClientError> {
        let mut reading = self.begin_read(wanted)?;
        if self.is_suspended() {
            return Ok(None);
        }
        loop {
            let Some(mut chunk) = self.chunk(&mut reading, wanted.stream)? else { return Ok(None) };
            let end = wanted.end(chunk.slot);
            match chunk.next_below(end, &mut reading.decompressor) {
                Some(Ok(message)) => {
                    let (slot, generation) = (chunk.slot, chunk.generation);
                    reading.record(Unprocessed { slot, generation, offset: message.offset() });
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

    /// Passes available wanted records to the sink until it is full. An error after records is left
    /// for the next call.
    pub(crate) fn try_read_into(
        &self,
        wanted: Wanted<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), ClientError> {
        let mut reading = self.begin_read(wanted)?;
        if self.is_suspended() {
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
                reading.record(Unprocessed { slot, generation, offset });
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

    /// Undoes the return of unprocessed messages, so that they are read again.
    pub(crate) fn take_back(&self, wanted: Wanted<'_>) {
        let unprocessed = mem::take(&mut self.readers.state(wanted.stream).unprocessed);
        for Unprocessed { slot, generation, offset } in unprocessed {
            if !self.assignment.has_moved(slot, generation) {
                self.seek(slot, Start::Offset(offset));
                if wanted.end(slot).is_some() {
                    // The slot may be paused because reading reached its end.
                    self.set_paused(slot, false);
                }
            }
        }
    }

    /// Splits reading into streams; false if it has started.
    pub(crate) fn part(&self, streams: usize) -> bool {
        let is_parted = self.readers.part(streams);
        if is_parted {
            self.assignment.deal_to(streams);
        }
        is_parted
    }

    /// Ends reading: the next call of every reader fails, and marks its messages as processed.
    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.arrivals.changed().wake_all();
    }

    /// Stops returning messages until the next assignment. After this returns, every message
    /// returned before is recorded as unprocessed or processed, so a commit that follows misses
    /// none.
    pub(crate) fn suspend(&self) {
        // A reader holds the lock of its state from the check of `is_suspended` until it has
        // recorded its message. The flag is set under all locks, so no read that missed it is still
        // in progress.
        let _states = self.readers.all();
        self.is_suspended.store(true, Ordering::Release);
    }

    fn is_suspended(&self) -> bool {
        self.is_suspended.load(Ordering::Acquire)
    }

    /// Returns true if there are unreported changes of the assignment.
    pub(crate) fn has_changes(&self) -> bool {
        self.changes.are_pending()
    }

    /// Takes the partitions that were assigned and revoked since the last call.
    pub(crate) fn take_changes(&self) -> Option<Change> {
        self.changes.take()
    }

    /// A copy of the slots with the callers' current positions.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        self.slots_by(&self.readers.all())
    }

    /// The positions after all returned messages.
    pub(crate) fn received(&self) -> Vec<(TopicPartition, Offset)> {
        positions(self.slots())
    }

    /// The positions after all processed messages: all messages except those returned by the last
    /// read call.
    pub(crate) fn processed(&self) -> Vec<(TopicPartition, Offset)> {
        let readers = self.readers.all();
        let mut slots = self.slots_by(&readers);
        for &Unprocessed { slot, generation, offset } in readers.iter().flat_map(|r| &r.unprocessed)
        {
            let slot = &mut slots[slot];
            if slot.generation == generation {
                slot.position = slot.position.map(|position| position.min(offset));
            }
        }
        positions(slots)
    }

    /// Marks all returned messages as processed.
    pub(crate) fn finish(&self) {
        for reading in self.readers.all().iter_mut() {
            reading.finish();
        }
    }

    /// Marks returned messages below these offsets as processed.
    pub(crate) fn finish_below(&self, offsets: &[(TopicPartition, Offset)]) {
        let mut readers = self.readers.all();
        for (partition, offset) in offsets {
            let Some(slot) = self.assignment.slot_of(partition) else { continue };
            for reading in readers.iter_mut() {
                reading.finish_below(slot, *offset);
            }
        }
    }

    /// Moves a slot to `start`.
    pub(crate) fn seek(&self, slot: usize, start: Start) {
        self.assignment.seek(slot, start);
        self.forget_moved();
        self.work.notify_one();
    }

    /// Pauses or resumes a slot.
    pub(crate) fn set_paused(&self, slot: usize, is_paused: bool) {
        self.assignment.set_paused(slot, is_paused);
        if is_paused {
            for reading in self.readers.all().iter_mut() {
                if let Some(chunk) = reading.chunk.take_if(|chunk| chunk.slot == slot) {
                    self.leave(&chunk);
                    self.arrivals.put_back(chunk, |chunk| self.has_moved(chunk));
                }
            }
        }
        self.work.notify_one();
        self.arrivals.changed().wake_all();
    }

    /// Replaces the assignment by these partitions, each with its start.
    pub(crate) fn assign(&self, partitions: Vec<(TopicPartition, Start)>) {
        self.assign_committed(partitions, &BTreeMap::new());
    }

    /// Replaces the assignment as [`assign`](Self::assign) does, with the leader epochs that were
    /// committed with the offsets.
    pub(crate) fn assign_committed(
        &self,
        partitions: Vec<(TopicPartition, Start)>,
        epochs: &BTreeMap<TopicPartition, LeaderEpoch>,
    ) {
        // Readers do not check whether their current chunk is stale, so hold them back until the
        // chunks of the former assignment are gone.
        self.is_suspended.store(true, Ordering::Release);
        let before = self.assignment.assigned();
        self.assignment.replace(partitions, epochs);
        self.changes.add(before, self.assignment.assigned());
        self.forget_moved();
        self.is_suspended.store(false, Ordering::Release);
        self.work.notify_one();
        self.arrivals.changed().wake_all();
    }

    /// Adds the new partitions of topics that have grown.
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

    /// Discards records fetched before the last seek or assignment. A reader checks the assignment
    /// while it holds its state's lock. So a chunk that it took before the change is found here,
    /// and a chunk that it takes later is current.
    fn forget_moved(&self) {
        self.arrivals.purge(|chunk| self.has_moved(chunk));
        for reading in self.readers.all().iter_mut() {
            reading.chunk.take_if(|chunk| self.has_moved(chunk));
        }
    }

    /// Returns true if a chunk belongs to an older generation of its slot.
    pub(crate) fn has_moved(&self, chunk: &Chunk) -> bool {
        self.assignment.has_moved(chunk.slot, chunk.generation)
    }

    /// Locks the reading state of a stream for a read call, and marks its returned messages as
    /// processed unless `wanted.goes_on`.
    fn begin_read(&self, wanted: Wanted<'_>) -> Result<MutexGuard<'_, Reading>, ClientError> {
        let mut reading = self.readers.state(wanted.stream);
        if !wanted.goes_on {
            reading.finish();
        }
        if self.is_ending.load(Ordering::Acquire) {
            return Err(ClientError::Closed);
        }
        Ok(reading)
    }

    /// The current chunk, or the next one.
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

    /// Publishes the chunk's position when a reader leaves the chunk.
    fn leave(&self, chunk: &Chunk) {
        self.assignment.update(chunk.slot, chunk.generation, |slot| {
            slot.position = Some(chunk.position());
        });
    }

    /// Gives up a partition at damaged records. Records fetched beyond them are discarded:
    /// returning them would skip the intact records in between.
    fn refuse(&self, reading: &mut Reading, chunk: &Chunk) {
        let (slot, generation) = (chunk.slot, chunk.generation);
        if let Some(next) = self.assignment.refuse(slot, generation, chunk.position()) {
            reading.carry_over(slot, (generation, next));
            self.arrivals.purge(|chunk| self.has_moved(chunk));
            self.work.notify_one();
        }
    }

    /// Gives up a partition with an error, until a seek.
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

    /// Handles a leader's log that differs from the records that were read: it agrees with them
    /// only in the offsets `unchanged`, which end before the source's position. Reading continues
    /// at the end of `unchanged`, unless the consumer is configured to fail for a position out of
    /// range.
    pub(crate) fn diverge(&self, source: &Source, unchanged: Range<Offset>) {
        let Source { slot, generation, partition, position, .. } = source;
        let Range { start, end } = unchanged;
        if self.config.out_of_range == OutOfRange::Error {
            return self.stop(source, source.out_of_range((start, end)));
        }
        tracing::warn!(
            %partition, %position, %end,
            "records that were read are lost: the log of the new leader differs"
        );
        self.assignment.diverge(*slot, *generation, end);
        self.work.notify_one();
    }

    /// Handles a chunk without further records below `end`. A slot that has reached its end is
    /// paused.
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
