//! Where the callers of a consumer are: one place for all of them, or one for each of its streams.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::fetching::Chunk;
use crate::record::Decompressor;
use crate::types::Offset;

/// The places, which are there from the first read on.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    places: OnceLock<Box<[Mutex<Reading>]>>,
}

/// Where the callers of one stream are.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) chunk: Option<Chunk>,
    pub(crate) decompressor: Decompressor,
    /// The first message of each slot given out in the last turn, while nobody has asked for more.
    pub(crate) in_hand: Vec<InHand>,
}

/// A message that may not be done with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InHand {
    pub(crate) slot: usize,
    pub(crate) generation: u32,
    pub(crate) offset: Offset,
}

impl Readers {
    /// The place of a stream. The first use decides that there is one only, if nobody has asked for
    /// more before.
    pub(crate) fn place(&self, stream: usize) -> MutexGuard<'_, Reading> {
        let places = self.places.get_or_init(|| places(1));
        places[stream].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All places there are, each held until the end.
    pub(crate) fn all(&self) -> Vec<MutexGuard<'_, Reading>> {
        let places = self.places.get().map(|places| &**places).unwrap_or_default();
        places.iter().map(|place| place.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Makes a place for each of so many streams; false if reading has begun.
    pub(crate) fn part(&self, streams: usize) -> bool {
        self.places.set(places(streams)).is_ok()
    }
}

impl Reading {
    /// What was in hand is done with.
    pub(crate) fn turn(&mut self) {
        self.in_hand.clear();
    }

    /// What was in hand of a slot below the offset is done with.
    pub(crate) fn turn_below(&mut self, slot: usize, offset: Offset) {
        for held in self.in_hand.iter_mut().filter(|held| held.slot == slot) {
            held.offset = held.offset.max(offset);
        }
    }

    /// What is in hand of a slot stays so in its next generation.
    pub(crate) fn carry_over(&mut self, slot: usize, (generation, next): (u32, u32)) {
        let is_carried = |held: &&mut InHand| (held.slot, held.generation) == (slot, generation);
        for held in self.in_hand.iter_mut().filter(is_carried) {
            held.generation = next;
        }
    }

    /// A message is given out.
    pub(crate) fn hold(&mut self, message: InHand) {
        let is_held =
            |held: &InHand| (held.slot, held.generation) == (message.slot, message.generation);
        if !self.in_hand.iter().any(is_held) {
            self.in_hand.push(message);
        }
    }
}

fn places(count: usize) -> Box<[Mutex<Reading>]> {
    (0..count).map(|_| Mutex::default()).collect()
}
