//! The sessions on a store that lives in this process.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::metadata::store::{Event, SessionError, SessionId, StoreError, Watch, Watchers};

/// A session, with its watches.
#[derive(Debug)]
pub(in crate::metadata) struct LocalSession {
    pub(in crate::metadata) id: SessionId,
    has_ended: AtomicBool,
    /// True while the session does not hear of the changes of other sessions.
    is_cut_off: AtomicBool,
    watchers: Watchers,
}

impl LocalSession {
    /// Returns an error if the session has ended.
    pub(in crate::metadata) fn check(&self) -> Result<(), StoreError> {
        if self.has_ended.load(Ordering::Acquire) {
            return Err(SessionError::Expired(self.id).into());
        }
        Ok(())
    }

    /// Ends the session: it accepts no more calls.
    pub(in crate::metadata) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.watchers.publish(&Event::SessionExpired);
    }

    /// Watches these nodes and their descendants.
    pub(in crate::metadata) fn watch(&self, subtrees: &[&str]) -> Watch {
        self.watchers.watch(subtrees)
    }

    /// Sets whether the session misses the changes of other sessions.
    #[cfg(any(test, feature = "broker", feature = "internals"))]
    pub(in crate::metadata) fn set_cut_off(&self, is_cut_off: bool) {
        self.is_cut_off.store(is_cut_off, Ordering::Release);
    }

    /// Reports an event to the watches of this session.
    pub(in crate::metadata) fn publish(&self, event: &Event) {
        self.watchers.publish(event);
    }
}

/// All sessions on a store.
#[derive(Debug, Default)]
pub(in crate::metadata) struct LocalSessions {
    opened: AtomicU64,
    sessions: Mutex<Vec<Weak<LocalSession>>>,
}

impl LocalSessions {
    /// Opens a session with an id of its own.
    pub(in crate::metadata) fn open(&self) -> Arc<LocalSession> {
        let id = SessionId::of_process(self.opened.fetch_add(1, Ordering::Relaxed));
        let session = Arc::new(LocalSession {
            id,
            has_ended: AtomicBool::new(false),
            is_cut_off: AtomicBool::new(false),
            watchers: Watchers::default(),
        });
        // Every statement leaves the list consistent, so a poisoned lock is harmless.
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(&session));
        session
    }

    /// Reports an event to the watches of all sessions.
    pub(in crate::metadata) fn publish(&self, event: &Event) {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = sessions.iter().filter_map(Weak::upgrade);
        for session in sessions.filter(|session| !session.is_cut_off.load(Ordering::Acquire)) {
            session.publish(event);
        }
    }
}
