//! Reading states of a consumer's callers: one for all of them, or one per stream.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::fetch_buffer::Chunk;
use crate::record::Decompressor;
use crate::types::Offset;

/// The reading states, created by the first read or by splitting into streams.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    states: OnceLock<Box<[Mutex<Reading>]>>,
    /// Locked while the states are created, and by `all` before it locks the states.
    creating: Mutex<()>,
}

/// The locks of all reading states. While this exists no reader reads, not even a first reader, for
/// which the states are yet to be created.
#[derive(Debug)]
pub(crate) struct AllReaders<'a> {
    states: Vec<MutexGuard<'a, Reading>>,
    /// The last field, so that it is unlocked last.
    _creating: MutexGuard<'a, ()>,
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
        let states = self.states.get().unwrap_or_else(|| {
            // `all` may have found no state to lock. It holds this lock instead, so the first
            // reader waits for it too.
            let _creating = self.creating();
            self.states.get_or_init(|| states(1))
        });
        states[stream].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks all reading states, in order.
    pub(crate) fn all(&self) -> AllReaders<'_> {
        let creating = self.creating();
        let states = self.states.get().map(|states| &**states).unwrap_or_default();
        let locked =
            states.iter().map(|state| state.lock().unwrap_or_else(PoisonError::into_inner));
        AllReaders { states: locked.collect(), _creating: creating }
    }

    /// Creates a state per stream; false if reading has started.
    pub(crate) fn part(&self, streams: usize) -> bool {
        let _creating = self.creating();
        self.states.set(states(streams)).is_ok()
    }

    fn creating(&self) -> MutexGuard<'_, ()> {
        self.creating.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Deref for AllReaders<'a> {
    type Target = [MutexGuard<'a, Reading>];

    fn deref(&self) -> &Self::Target {
        &self.states
    }
}

impl DerefMut for AllReaders<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.states
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, sync_channel};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_first_read_waits_while_all_states_are_locked() {
        let readers = Readers::default();
        let (reads, read) = sync_channel(1);
        thread::scope(|scope| {
            let all = readers.all();
            scope.spawn(|| {
                drop(readers.state(0));
                reads.send(()).unwrap();
            });
            // A first read that did not wait would have been seen within this time.
            let early = read.recv_timeout(Duration::from_millis(100));
            drop(all);
            assert_eq!(early, Err(RecvTimeoutError::Timeout), "the reader did not wait");
            read.recv().unwrap();
        });
    }

    #[test]
    fn locking_all_states_does_not_begin_reading() {
        let readers = Readers::default();
        assert!(readers.all().is_empty());
        assert!(readers.part(3), "reading has not begun");
        assert_eq!(readers.all().len(), 3);
        drop(readers.state(2));
        assert!(!readers.part(1));
    }
}
