//! What was fetched and not yet taken, in order of arrival, and who waits for it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::chunk::Chunk;
use crate::client::ClientError;
use crate::client::bell::Bell;

/// A queue between the fetching task and callers. Its bytes are bounded by the task, which stops
/// fetching while there are too many.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    state: Mutex<State>,
    changed: Bell,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Result<Chunk, ClientError>>,
    /// By slot.
    bytes: Vec<usize>,
    /// Why nothing more will come.
    failure: Option<ClientError>,
    is_closed: bool,
}

/// What a caller finds.
#[derive(Debug)]
pub(crate) enum Taken {
    /// The next chunk.
    Chunk(Chunk),
    /// Nothing now.
    Nothing,
}

impl Arrivals {
    /// Where callers wait for a change.
    pub(crate) fn changed(&self) -> &Bell {
        &self.changed
    }

    /// Puts a chunk at the end, unless it `is_stale`.
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

    /// Puts back a chunk that was taken, before all others, unless it `is_stale`.
    pub(crate) fn put_back(&self, chunk: Chunk, is_stale: impl Fn(&Chunk) -> bool) {
        let mut state = self.state();
        if is_stale(&chunk) {
            return;
        }
        state.add(&chunk);
        state.queue.push_front(Ok(chunk));
    }

    /// Puts an error at the end, for a caller to meet in its place.
    pub(crate) fn fail(&self, error: ClientError) {
        self.state().queue.push_back(Err(error));
        self.changed.wake_all();
    }

    /// Puts an error at the end if `gives_up` its partition, which is called with the queue held: a
    /// caller that sees the partition given up finds the error here.
    pub(crate) fn fail_if(&self, error: ClientError, gives_up: impl FnOnce() -> bool) {
        let mut state = self.state();
        if gives_up() {
            state.queue.push_back(Err(error));
            drop(state);
            self.changed.wake_all();
        }
    }

    /// Nothing more will come: every caller who finds nothing meets the error.
    pub(crate) fn fail_for_good(&self, error: ClientError) {
        self.state().failure = Some(error);
        self.changed.wake_all();
    }

    /// Why nothing more will come, if that is so.
    pub(crate) fn failure(&self) -> Option<ClientError> {
        self.state().failure.clone()
    }

    /// Takes the first chunk that `is_wanted`; others stay.
    ///
    /// # Errors
    /// An error that stands before it; why nothing more will come; and [`ClientError::Closed`].
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

    /// Forgets the chunks that `is_stale`. One that has become so before this is either found here
    /// or not let in afterwards: both look while they hold the queue.
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

    /// Bytes that wait, by slot; slots without any may be missing at the end.
    pub(crate) fn bytes(&self) -> Vec<usize> {
        self.state().bytes.clone()
    }

    /// Ends it: callers are told, nothing more is taken.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.queue.clear();
        state.bytes.clear();
        drop(state);
        self.changed.wake_all();
    }

    /// Whether it was ended.
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
