//! The partitions of a consumer, with the positions of fetching and of reading.
//!
//! Each partition has a slot with a fixed number. Each seek, each new assignment, and damage found
//! while reading start a new generation of the slot: records fetched before belong to an older
//! generation and are discarded.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::config::Start;
use super::fetch_buffer::Source;
use super::read_epochs::ReadEpochs;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicName, TopicPartition};

/// The partitions of a consumer, shared by its callers and the fetch task.
#[derive(Debug)]
pub(crate) struct Assignment {
    slots: Mutex<Vec<Slot>>,
    streams: AtomicUsize,
}

/// The state of a partition.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// The partition.
    pub(crate) partition: TopicPartition,
    /// Incremented by a seek, by a new assignment, and when reading finds damage.
    pub(crate) generation: u32,
    /// The number of the stream that returns the partition's records.
    pub(crate) stream: usize,
    /// The next position to fetch.
    pub(crate) target: Target,
    /// The end of the last fetched batch.
    pub(crate) boundary: Option<Offset>,
    /// The leader epochs of the fetched records.
    pub(crate) epochs: ReadEpochs,
    /// The offset at which fetching ends, if the consumer reads only up to an end.
    pub(crate) until: Option<Offset>,
    /// True while the partition is assigned; slots of former assignments remain.
    pub(crate) is_assigned: bool,
    /// True while fetching and reading are paused.
    pub(crate) is_paused: bool,
    /// The next offset to return, once it is known.
    pub(crate) position: Option<Offset>,
    /// The high watermark in the last response.
    pub(crate) high_watermark: Option<Offset>,
    /// True if the last response had no records at all, so that the next request should wait at the
    /// broker.
    pub(crate) is_dry: bool,
}

/// The next position to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A start position that must be looked up first.
    Unresolved(Start),
    /// The records from this offset on.
    At(Offset),
    /// The records from this offset on, which are damaged: the error was returned, and the broker
    /// is asked again periodically.
    Refused(Offset),
    /// None: an error was returned, and fetching resumes only after a seek.
    Stopped,
}

impl Target {
    /// Returns true if an error was returned in place of the next records.
    pub(crate) fn is_given_up(self) -> bool {
        matches!(self, Self::Refused(_) | Self::Stopped)
    }
}

impl Default for Assignment {
    fn default() -> Self {
        Self { slots: Mutex::default(), streams: AtomicUsize::new(1) }
    }
}

impl Assignment {
    /// Adds a partition, unless it has a slot already.
    pub(crate) fn add(&self, partition: TopicPartition, start: Start) {
        let mut slots = self.slots();
        if slots.iter().any(|slot| slot.partition == partition) {
            return;
        }
        let mut slot = Slot {
            partition,
            generation: 0,
            stream: 0,
            target: Target::Stopped,
            boundary: None,
            epochs: ReadEpochs::default(),
            until: None,
            is_assigned: true,
            is_paused: false,
            position: None,
            high_watermark: None,
            is_dry: false,
        };
        slot.aim(start);
        slots.push(slot);
        deal(&mut slots, self.streams());
    }

    /// The number of streams that the partitions are distributed over.
    pub(crate) fn streams(&self) -> usize {
        self.streams.load(Ordering::Acquire)
    }

    /// Distributes the partitions over `streams` streams, now and after each change.
    pub(crate) fn deal_to(&self, streams: usize) {
        let mut slots = self.slots();
        // Published while `slots` is locked, so that the count always matches the distribution.
        self.streams.store(streams, Ordering::Release);
        deal(&mut slots, streams);
    }

    /// Replaces the assignment by these partitions, each with its start. `epochs` has the leader
    /// epochs of the records before the starts, as far as they are known.
    pub(crate) fn replace(
        &self,
        partitions: Vec<(TopicPartition, Start)>,
        epochs: &BTreeMap<TopicPartition, LeaderEpoch>,
    ) {
        for slot in self.slots().iter_mut() {
            slot.generation = slot.generation.wrapping_add(1);
            slot.is_assigned = false;
            slot.is_paused = false;
            slot.target = Target::Stopped;
            slot.position = None;
        }
        for (partition, start) in partitions {
            match self.slot_of(&partition) {
                Some(slot) => {
                    let slot = &mut self.slots()[slot];
                    slot.is_assigned = true;
                    slot.aim(start);
                }
                None => self.add(partition, start),
            }
        }
        let mut slots = self.slots();
        for slot in slots.iter_mut().filter(|slot| slot.is_assigned) {
            if let (Target::At(at), Some(epoch)) = (slot.target, epochs.get(&slot.partition)) {
                slot.epochs = ReadEpochs::ending(*epoch, at);
            }
        }
        deal(&mut slots, self.streams());
    }

    /// The leader epochs of the records before these offsets, as far as they are known.
    pub(crate) fn epochs_before(
        &self,
        offsets: &[(TopicPartition, Offset)],
    ) -> BTreeMap<TopicPartition, LeaderEpoch> {
        let slots = self.slots();
        let epoch = |(partition, offset): &(TopicPartition, Offset)| {
            let slot = slots.iter().find(|slot| slot.partition == *partition)?;
            Some((partition.clone(), slot.epochs.before(*offset)))
        };
        offsets.iter().filter_map(epoch).collect()
    }

    /// Continues fetching a slot at `at`, the offset from which on the leader's log differs from
    /// the fetched records, if the slot is still in `generation`. Records that wait in the buffer
    /// are still returned.
    pub(crate) fn diverge(&self, slot: usize, generation: u32, at: Offset) {
        self.update(slot, generation, |slot| {
            slot.target = Target::At(at);
            slot.boundary = None;
            slot.epochs = ReadEpochs::default();
            slot.position = slot.position.map(|position| position.min(at));
        });
    }

    /// Continues fetching a slot at an offset if the slot is still in `generation`, and returns
    /// true if so. The record before the offset counts as written in `epoch`.
    pub(crate) fn go_on_after(
        &self,
        slot: usize,
        generation: u32,
        (at, epoch): (Offset, LeaderEpoch),
    ) -> bool {
        let mut is_current = false;
        self.update(slot, generation, |slot| {
            slot.target = Target::At(at);
            slot.boundary = None;
            slot.epochs = ReadEpochs::ending(epoch, at);
            slot.position = slot.position.map(|position| position.min(at));
            is_current = true;
        });
        is_current
    }

    /// Moves a slot to `start` and invalidates the records fetched before.
    pub(crate) fn seek(&self, slot: usize, start: Start) {
        let mut slots = self.slots();
        let slot = &mut slots[slot];
        slot.generation = slot.generation.wrapping_add(1);
        slot.aim(start);
    }

    /// Sets the start of a slot if it is still in `generation`.
    pub(crate) fn aim(&self, slot: usize, generation: u32, start: Start) {
        self.update(slot, generation, |slot| slot.aim(start));
    }

    /// Applies `change` to a slot if it is still in `generation`.
    pub(crate) fn update(&self, slot: usize, generation: u32, change: impl FnOnce(&mut Slot)) {
        let mut slots = self.slots();
        let slot = &mut slots[slot];
        if slot.generation == generation {
            change(slot);
        }
    }

    /// Gives a slot up at `position`, where reading found damage, if the slot is still in
    /// `generation`. Returns the new generation, to which no record fetched before belongs.
    pub(crate) fn refuse(&self, slot: usize, generation: u32, position: Offset) -> Option<u32> {
        let mut slots = self.slots();
        let slot = &mut slots[slot];
        (slot.generation == generation).then(|| {
            slot.generation = slot.generation.wrapping_add(1);
            slot.aim(Start::Offset(position));
            slot.target = Target::Refused(position);
            slot.generation
        })
    }

    /// Returns true if a slot was given up at `position` and is still in `generation`.
    pub(crate) fn is_refused(&self, slot: usize, generation: u32, position: Offset) -> bool {
        let slot = &self.slots()[slot];
        slot.generation == generation && slot.target == Target::Refused(position)
    }

    /// Stops fetching a partition at `until`.
    pub(crate) fn limit(&self, partition: &TopicPartition, until: Offset) {
        for slot in self.slots().iter_mut().filter(|slot| slot.partition == *partition) {
            slot.until = Some(until);
        }
    }

    /// Pauses or resumes a slot.
    pub(crate) fn set_paused(&self, slot: usize, is_paused: bool) {
        self.slots()[slot].is_paused = is_paused;
    }

    /// Returns true if the stream may return a chunk of this slot and generation.
    pub(crate) fn is_for(&self, stream: usize, slot: usize, generation: u32) -> bool {
        let slots = self.slots();
        let slot = &slots[slot];
        let is_current = slot.generation == generation && slot.is_assigned && !slot.is_paused;
        is_current && slot.stream == stream
    }

    /// Returns true if the slot is no longer in `generation`.
    pub(crate) fn has_moved(&self, slot: usize, generation: u32) -> bool {
        self.slots()[slot].generation != generation
    }

    /// Returns the slot number of a partition.
    pub(crate) fn slot_of(&self, partition: &TopicPartition) -> Option<usize> {
        self.slots().iter().position(|slot| slot.partition == *partition)
    }

    /// Returns the assigned partitions.
    pub(crate) fn assigned(&self) -> Vec<TopicPartition> {
        let slots = self.slots();
        slots.iter().filter(|slot| slot.is_assigned).map(|slot| slot.partition.clone()).collect()
    }

    /// Returns a copy of all slots.
    pub(crate) fn snapshot(&self) -> Vec<Slot> {
        self.slots().clone()
    }

    /// Returns the number of slots per topic.
    pub(crate) fn counts(&self) -> HashMap<TopicName, usize> {
        let mut counts = HashMap::new();
        for slot in self.slots().iter() {
            *counts.entry(slot.partition.topic.clone()).or_default() += 1;
        }
        counts
    }

    /// Adds the new partitions of `topic` with indexes `from..to`.
    pub(crate) fn grow(&self, topic: &TopicName, from: usize, to: usize) {
        for index in from..to {
            let partition = PartitionIndex(i32::try_from(index).unwrap_or(i32::MAX));
            self.add(TopicPartition { topic: topic.clone(), partition }, Start::Earliest);
        }
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Distributes the assigned partitions over the streams, round-robin.
fn deal(slots: &mut [Slot], streams: usize) {
    let assigned = slots.iter_mut().filter(|slot| slot.is_assigned);
    for (slot, stream) in assigned.zip((0..streams).cycle()) {
        slot.stream = stream;
    }
}

impl Slot {
    /// The source of a chunk that is fetched for this slot from `position`. The slot has number
    /// `number`.
    pub(crate) fn source(&self, number: usize, position: Offset) -> Source {
        Source {
            slot: number,
            generation: self.generation,
            partition: self.partition.clone(),
            position,
            is_boundary: self.boundary == Some(position),
        }
    }

    /// Returns true if the response may wait for records. Below the high watermark there are
    /// records, or a gap that will never be filled: a response without a wait shows where the gap
    /// ends.
    pub(crate) fn may_wait(&self, position: Offset) -> bool {
        self.is_dry || self.high_watermark.is_some_and(|end| position >= end)
    }

    /// Resumes a slot that was given up at this position, now that intact records arrived.
    pub(crate) fn served(&mut self, position: Offset) {
        if self.target == Target::Refused(position) {
            self.target = Target::At(position);
        }
    }

    fn aim(&mut self, start: Start) {
        self.is_dry = false;
        self.boundary = None;
        self.epochs = ReadEpochs::default();
        match start {
            Start::Offset(offset) => {
                self.target = Target::At(offset);
                self.position = Some(offset);
            }
            start => {
                self.target = Target::Unresolved(start);
                self.position = None;
            }
        }
    }
}
