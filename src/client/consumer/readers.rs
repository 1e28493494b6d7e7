//! Reading states of a consumer's callers: one for all of them, or one per stream.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::fetch_buffer::Chunk;
use crate::record::Decompressor;
use crate::types::Offset;

/// The reading states, created by the first read or by splitting into streams.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    states: OnceLock<Box<[Mutex<Reading>]>>,
}

/// The reading state of one stream.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) chunk: Option<Chunk>,
    pub(crate) decompressor: Decompressor,
    /// For each slot, the first message returned by the last call, until the next call.
    pub(crate) unprocessed: Vec<Unprocessed>,
}

/// A message that the application may still be processing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unprocessed {
    pub(crate) slot: usize,
    pub(crate) generation: u32,
    pub(crate) offset: Offset,
}

impl Readers {
    /// Locks the state of a stream. The first call fixes the number of streams at one, unless the
    /// consumer was split before.
    pub(crate) fn state(&self, stream: usize) -> MutexGuard<'_, Reading> {
        let states = self.states.get_or_init(|| states(1));
        states[stream].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks all reading states, in order, until the guards are dropped.
    pub(crate) fn all(&self) -> Vec<MutexGuard<'_, Reading>> {
        let states = self.states.get().map(|states| &**states).unwrap_or_default();
        states.iter().map(|state| state.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Creates a state per stream; false if reading has started.
    pub(crate) fn part(&self, streams: usize) -> bool {
        self.states.set(states(streams)).is_ok()
    }
}

impl Reading {
    /// Marks the returned messages as processed.
    pub(crate) fn finish(&mut self) {
        self.unprocessed.clear();
    }

    /// Marks the returned messages of a slot below the offset as processed.
    pub(crate) fn finish_below(&mut self, slot: usize, offset: Offset) {
        for held in self.unprocessed.iter_mut().filter(|held| held.slot == slot) {
            held.offset = held.offset.max(offset);
        }
    }

    /// Moves a slot's returned messages to its next generation.
    pub(crate) fn carry_over(&mut self, slot: usize, (generation, next): (u32, u32)) {
        let is_carried =
            |held: &&mut Unprocessed| (held.slot, held.generation) == (slot, generation);
        for held in self.unprocessed.iter_mut().filter(is_carried) {
            held.generation = next;
        }
    }

    /// Records a returned message, unless an earlier one of its slot is recorded.
    pub(crate) fn record(&mut self, message: Unprocessed) {
        let is_held =
            |held: &Unprocessed| (held.slot, held.generation) == (message.slot, message.generation);
        if !self.unprocessed.iter().any(is_held) {
            self.unprocessed.push(message);
        }
    }
}

fn states(count: usize) -> Box<[Mutex<Reading>]> {
    (0..count).map(|_| Mutex::default()).collect()
}
