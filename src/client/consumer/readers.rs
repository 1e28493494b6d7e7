//! Reading states of a consumer's callers: one for all of them, or one per stream.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::fetching::Chunk;
use crate::record::Decompressor;
use crate::types::Offset;

/// The reading states, created by the first read or by splitting into streams.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    places: OnceLock<Box<[Mutex<Reading>]>>,
}

/// The reading state of one stream.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) chunk: Option<Chunk>,
    pub(crate) decompressor: Decompressor,
    /// For each slot, the first message returned by the last call, until the next call.
    pub(crate) in_hand: Vec<InHand>,
}

/// A message that the application may still be processing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InHand {
    pub(crate) slot: usize,
    pub(crate) generation: u32,
    pub(crate) offset: Offset,
}

impl Readers {
    /// Locks the state of a stream. The first call fixes the number of streams at one, unless the
    /// consumer was split before.
    pub(crate) fn place(&self, stream: usize) -> MutexGuard<'_, Reading> {
        let places = self.places.get_or_init(|| places(1));
        places[stream].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks all reading states, in order, until the guards are dropped.
    pub(crate) fn all(&self) -> Vec<MutexGuard<'_, Reading>> {
        let places = self.places.get().map(|places| &**places).unwrap_or_default();
        places.iter().map(|place| place.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Creates a state per stream; false if reading has started.
    pub(crate) fn part(&self, streams: usize) -> bool {
        self.places.set(places(streams)).is_ok()
    }
}

impl Reading {
    /// Marks the returned messages as processed.
    pub(crate) fn turn(&mut self) {
        self.in_hand.clear();
    }

    /// Marks the returned messages of a slot below the offset as processed.
    pub(crate) fn turn_below(&mut self, slot: usize, offset: Offset) {
        for held in self.in_hand.iter_mut().filter(|held| held.slot == slot) {
            held.offset = held.offset.max(offset);
        }
    }

    /// Moves a slot's returned messages to its next generation.
    pub(crate) fn carry_over(&mut self, slot: usize, (generation, next): (u32, u32)) {
        let is_carried = |held: &&mut InHand| (held.slot, held.generation) == (slot, generation);
        for held in self.in_hand.iter_mut().filter(is_carried) {
            held.generation = next;
        }
    }

    /// Records a returned message, unless an earlier one of its slot is recorded.
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
