//! The queue of fetched chunks, in order of arrival, and the wakeup for its readers.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::chunk::Chunk;
use crate::client::ClientError;
use crate::client::wakeup::Wakeup;

/// A queue from the fetch task to callers. The fetch task bounds its size: it stops fetching while
/// too many bytes wait.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    state: Mutex<State>,
    changed: Wakeup,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Result<Chunk, ClientError>>,
    /// Queued bytes by slot.
    bytes: Vec<usize>,
    /// The error after which no more chunks arrive.
    failure: Option<ClientError>,
    is_closed: bool,
}

/// The result of taking a chunk.
#[derive(Debug)]
pub(crate) enum Taken {
    /// The next chunk.
    Chunk(Chunk),
    /// No chunk at present.
    Nothing,
}

impl Arrivals {
    /// The wakeup for callers that wait for a change.
    pub(crate) fn changed(&self) -> &Wakeup {
        &self.changed
    }

    /// Appends a chunk, unless it `is_stale`. The check runs under the queue's lock.
    pub(crate) fn push(&self, chunk: Chunk, is_stale: impl Fn(&Chunk) -> bool) {
        let mut state = self.state();
        if is_stale(&chunk) {
            return;
        }
        state.add(&chunk);
        state.queue.push_back(Ok(chunk));
        drop(state);
        self.changed.wake_all();
    }

    /// Returns a chunk to the front of the queue, unless it `is_stale`.
    pub(crate) fn put_back(&self, chunk: Chunk, is_stale: impl Fn(&Chunk) -> bool) {
        let mut state = self.state();
        if is_stale(&chunk) {
            return;
        }
        state.add(&chunk);
        state.queue.push_front(Ok(chunk));
    }

    /// Appends an error. One caller receives it, in the order of the queue.
    pub(crate) fn fail(&self, error: ClientError) {
        self.state().queue.push_back(Err(error));
        self.changed.wake_all();
    }

    /// Appends an error if `gives_up` returns true. `gives_up` is called under the queue's lock, so
    /// a caller that sees the partition given up also finds the error in the queue.
    pub(crate) fn fail_if(&self, error: ClientError, gives_up: impl FnOnce() -> bool) {
        let mut state = self.state();
        if gives_up() {
            state.queue.push_back(Err(error));
            drop(state);
            self.changed.wake_all();
        }
    }

    /// Ends the queue with an error, returned to every caller once the queue has no chunk for it.
    pub(crate) fn fail_for_good(&self, error: ClientError) {
        self.state().failure = Some(error);
        self.changed.wake_all();
    }

    /// Returns the error that ended the queue.
    pub(crate) fn failure(&self) -> Option<ClientError> {
        self.state().failure.clone()
    }

    /// Takes the first chunk that `is_wanted`; other chunks stay queued.
    ///
    /// # Errors
    /// An error queued before it, the error that ended the queue, and [`ClientError::Closed`].
    pub(crate) fn take(&self, is_wanted: impl Fn(&Chunk) -> bool) -> Result<Taken, ClientError> {
        let mut state = self.state();
        if state.is_closed {
            return Err(ClientError::Closed);
        }
        let wanted = |arrived: &Result<Chunk, ClientError>| match arrived {
            Ok(chunk) => is_wanted(chunk),
            Err(_) => true,
        };
        let Some(place) = state.queue.iter().position(wanted) else {
            return state.failure.clone().map_or(Ok(Taken::Nothing), Err);
        };
        match state.queue.remove(place) {
            Some(Ok(chunk)) => {
                state.bytes[chunk.slot] -= chunk.size();
                Ok(Taken::Chunk(chunk))
            }
            Some(Err(error)) => Err(error),
            None => Ok(Taken::Nothing),
        }
    }

    /// Removes chunks that are stale. A chunk that became stale before this call is either removed
    /// here or rejected by `push` later: both check under the queue's lock.
    pub(crate) fn purge(&self, is_stale: impl Fn(&Chunk) -> bool) {
        let mut state = self.state();
        let State { queue, bytes, .. } = &mut *state;
        queue.retain(|arrived| match arrived {
            Ok(chunk) if is_stale(chunk) => {
                bytes[chunk.slot] -= chunk.size();
                false
            }
            _ => true,
        });
    }

    /// Returns the queued bytes by slot; trailing slots without any may be missing.
    pub(crate) fn bytes(&self) -> Vec<usize> {
        self.state().bytes.clone()
    }

    /// Closes the queue: callers fail from now on.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.queue.clear();
        state.bytes.clear();
        drop(state);
        self.changed.wake_all();
    }

    /// Returns true once closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, chunk: &Chunk) {
        let slots = self.bytes.len().max(chunk.slot + 1);
        self.bytes.resize(slots, 0);
        self.bytes[chunk.slot] += chunk.size();
    }
}
