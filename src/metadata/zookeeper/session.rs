//! The state that the handle of a session and its task share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::metadata::store::{Event, SessionError, SessionId, Watch, Watchers};
use crate::metadata::zookeeper::calls::Request;

/// A request on its way to a server, and the place for its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) request: Request,
    pub(super) response: oneshot::Sender<Result<Reply, SessionError>>,
}

/// The answer of a server.
#[derive(Debug)]
pub(super) struct Reply {
    /// 0, or the code of an error.
    pub(super) error: i32,
    pub(super) body: Bytes,
}

/// A session.
#[derive(Debug)]
pub(super) struct SessionState {
    pub(super) id: SessionId,
    /// Nanoseconds on the monotonic clock.
    heard: AtomicU64,
    /// The time-out that the last server has granted, in nanoseconds.
    timeout: AtomicU64,
    has_ended: AtomicBool,
    /// The subtrees that each server is asked to watch, by their paths in the ensemble.
    watched: Mutex<Vec<String>>,
    watchers: Watchers,
}

impl SessionState {
    pub(super) fn new(id: SessionId, heard: Duration) -> Self {
        let state = Self {
            id,
            heard: AtomicU64::new(0),
            timeout: AtomicU64::new(0),
            has_ended: AtomicBool::new(false),
            watched: Mutex::default(),
            watchers: Watchers::default(),
        };
        state.hear(heard);
        state
    }

    /// Notes that a request sent at `sent` was answered.
    pub(super) fn hear(&self, sent: Duration) {
        self.heard.fetch_max(in_nanos(sent), Ordering::AcqRel);
    }

    /// Notes the time-out that a server has granted.
    pub(super) fn grant(&self, timeout: Duration) {
        self.timeout.store(in_nanos(timeout), Ordering::Release);
    }

    pub(super) fn timeout(&self) -> Duration {
        Duration::from_nanos(self.timeout.load(Ordering::Acquire))
    }

    pub(super) fn last_heard(&self) -> Duration {
        Duration::from_nanos(self.heard.load(Ordering::Acquire))
    }

    /// Returns an error if the session has ended.
    pub(super) fn check(&self) -> Result<(), SessionError> {
        if self.has_ended.load(Ordering::Acquire) {
            return Err(SessionError::Expired(self.id));
        }
        Ok(())
    }

    /// Ends the session: its watches report it, and no call is made any more.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.publish(&Event::SessionExpired);
    }

    pub(super) fn publish(&self, event: &Event) {
        self.watchers.publish(event);
    }

    /// Creates a watch, whose subtrees every further server is asked to watch.
    pub(super) fn watch(&self, subtrees: &[&str], full_paths: &[String]) -> Watch {
        // Create the watch before the first event can arrive.
        let watch = self.watchers.watch(subtrees);
        let mut watched = self.lock_watched();
        for path in full_paths {
            if !watched.contains(path) {
                watched.push(path.clone());
            }
        }
        watch
    }

    /// The subtrees that a server is asked to watch.
    pub(super) fn watched(&self) -> Vec<String> {
        self.lock_watched().clone()
    }

    /// Locks the list. Every statement leaves it consistent, so a poisoned lock is harmless.
    fn lock_watched(&self) -> MutexGuard<'_, Vec<String>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
