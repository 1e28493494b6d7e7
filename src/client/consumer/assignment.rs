//! Which partitions are read, where fetching stands, and where the reader stands.
//!
//! A partition has a slot, whose number does not change. Each seek begins a new generation of its
//! slot: what was fetched before belongs to an older one and is not given out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::config::Start;
use super::fetching::Source;
use crate::types::{Offset, PartitionIndex, TopicName, TopicPartition};

/// The partitions of a consumer, shared by its callers and the fetching task.
#[derive(Debug)]
pub(crate) struct Assignment {
    slots: Mutex<Vec<Slot>>,
    streams: AtomicUsize,
}

/// One partition.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// Which.
    pub(crate) partition: TopicPartition,
    /// Rises with every seek.
    pub(crate) generation: u32,
    /// Which of the consumer's streams gives it out.
    pub(crate) stream: usize,
    /// Where to fetch next.
    pub(crate) target: Target,
    /// The end of the last batch that was fetched.
    pub(crate) boundary: Option<Offset>,
    /// Where fetching ends, if nobody wants what lies beyond.
    pub(crate) until: Option<Offset>,
    /// Whether the consumer reads it now; others once did.
    pub(crate) is_assigned: bool,
    /// Whether fetching and giving out rest.
    pub(crate) is_paused: bool,
    /// The offset that the reader gets next, once it is known.
    pub(crate) position: Option<Offset>,
    /// The end of what can be read, by the last answer.
    pub(crate) high_watermark: Option<Offset>,
    /// Whether the last answer had no records at all, so that asking again at once is vain.
    pub(crate) is_dry: bool,
}

/// Where to fetch next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Where this is has to be asked for first.
    Unresolved(Start),
    /// At this offset.
    At(Offset),
    /// At this offset, where records are damaged: the error was given out, and the broker is asked
    /// again from time to time.
    Refused(Offset),
    /// Nowhere: an error was given out, and only a seek goes on.
    Stopped,
}

impl Target {
    /// Whether an error was given out instead of what comes next.
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
    /// Adds a partition that is not read yet.
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

    /// How many streams the partitions are dealt out to.
    pub(crate) fn streams(&self) -> usize {
        self.streams.load(Ordering::Acquire)
    }

    /// Deals the partitions out to so many streams, now and after each change.
    pub(crate) fn deal_to(&self, streams: usize) {
        let mut slots = self.slots();
        self.streams.store(streams, Ordering::Release);
        deal(&mut slots, streams);
    }

    /// Reads these partitions from their starts, and no others any more.
    pub(crate) fn replace(&self, partitions: Vec<(TopicPartition, Start)>) {
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
        deal(&mut self.slots(), self.streams());
    }

    /// Goes on at `start`, and forgets what was fetched.
    pub(crate) fn seek(&self, slot: usize, start: Start) {
        let mut slots = self.slots();
        let slot = &mut slots[slot];
        slot.generation = slot.generation.wrapping_add(1);
        slot.aim(start);
    }

    /// Goes on at `start` if there was no seek since `generation`.
    pub(crate) fn aim(&self, slot: usize, generation: u32, start: Start) {
        self.update(slot, generation, |slot| slot.aim(start));
    }

    /// What was at `generation`, where there was no seek since, is changed.
    pub(crate) fn update(&self, slot: usize, generation: u32, change: impl FnOnce(&mut Slot)) {
        let mut slots = self.slots();
        let slot = &mut slots[slot];
        if slot.generation == generation {
            change(slot);
        }
    }

    /// Gives a slot up at `position`, where a caller has met damage, if there was no seek since
    /// `generation`. What was fetched before is of an older generation than the one returned.
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

    /// Whether a slot was given up at `position`, since `generation`.
    pub(crate) fn is_refused(&self, slot: usize, generation: u32, position: Offset) -> bool {
        let slot = &self.slots()[slot];
        slot.generation == generation && slot.target == Target::Refused(position)
    }

    /// Nothing from `until` on is to be fetched of a partition any more.
    pub(crate) fn limit(&self, partition: &TopicPartition, until: Offset) {
        for slot in self.slots().iter_mut().filter(|slot| slot.partition == *partition) {
            slot.until = Some(until);
        }
    }

    /// Lets a slot rest, or go on.
    pub(crate) fn set_paused(&self, slot: usize, is_paused: bool) {
        self.slots()[slot].is_paused = is_paused;
    }

    /// Whether a chunk of this slot and generation may be given out by the stream.
    pub(crate) fn is_for(&self, stream: usize, slot: usize, generation: u32) -> bool {
        let slots = self.slots();
        let slot = &slots[slot];
        let is_current = slot.generation == generation && slot.is_assigned && !slot.is_paused;
        is_current && slot.stream == stream
    }

    /// Whether there was a seek, or another assignment, since `generation`.
    pub(crate) fn has_moved(&self, slot: usize, generation: u32) -> bool {
        self.slots()[slot].generation != generation
    }

    /// The number of a partition's slot.
    pub(crate) fn slot_of(&self, partition: &TopicPartition) -> Option<usize> {
        self.slots().iter().position(|slot| slot.partition == *partition)
    }

    /// The partitions that are read.
    pub(crate) fn assigned(&self) -> Vec<TopicPartition> {
        let slots = self.slots();
        slots.iter().filter(|slot| slot.is_assigned).map(|slot| slot.partition.clone()).collect()
    }

    /// All slots as they are.
    pub(crate) fn snapshot(&self) -> Vec<Slot> {
        self.slots().clone()
    }

    /// How many partitions of each topic are read.
    pub(crate) fn counts(&self) -> HashMap<TopicName, usize> {
        let mut counts = HashMap::new();
        for slot in self.slots().iter() {
            *counts.entry(slot.partition.topic.clone()).or_default() += 1;
        }
        counts
    }

    /// Adds the partitions of `topic` from number `from` to `to`, which have just come into being.
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

/// Each partition to one stream, in turn.
fn deal(slots: &mut [Slot], streams: usize) {
    let assigned = slots.iter_mut().filter(|slot| slot.is_assigned);
    for (slot, stream) in assigned.zip((0..streams).cycle()) {
        slot.stream = stream;
    }
}

impl Slot {
    /// This slot, read from `position`, with its number.
    pub(crate) fn source(&self, number: usize, position: Offset) -> Source {
        Source {
            slot: number,
            generation: self.generation,
            partition: self.partition.clone(),
            position,
            is_boundary: self.boundary == Some(position),
        }
    }

    /// Whether an answer may wait for records. Below the end lie some, or a gap that no record
    /// will ever fill: an answer that does not wait tells where it ends.
    pub(crate) fn may_wait(&self, position: Offset) -> bool {
        self.is_dry || self.high_watermark.is_some_and(|end| position >= end)
    }

    /// Takes in that sound records have come from a position that may have been given up.
    pub(crate) fn served(&mut self, position: Offset) {
        if self.target == Target::Refused(position) {
            self.target = Target::At(position);
        }
    }

    fn aim(&mut self, start: Start) {
        self.is_dry = false;
        self.boundary = None;
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
