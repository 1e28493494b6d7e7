//! How changes reach those who watch: coalesced, bounded, never waited for.
//!
//! A [`Watch`] holds the set of paths that changed since it was last asked, not a queue of
//! changes; beyond a bound the set becomes "anything may have changed". So a slow watcher costs
//! little memory and holds up nobody, and what it reads afterwards is newer than any event.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use crate::metadata::store::children_prefix;

/// The most paths a watcher can be behind before it is told to read everything again.
const PENDING_MAX: usize = 4096;

/// What a watcher is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// These nodes were created, written or deleted, some perhaps several times.
    Changed(Vec<String>),
    /// Anything may have changed: read everything again.
    Resync,
    /// The store cannot be reached; ephemeral nodes may go without our knowing.
    SessionLost,
    /// The session is over and its ephemeral nodes with it. Nothing follows.
    SessionExpired,
}

/// Receives the events of one subtree.
#[derive(Debug)]
pub struct Watch {
    inbox: Arc<Inbox>,
}

impl Watch {
    /// The next event, when there is one. Dropping the future loses nothing.
    pub async fn next(&self) -> Event {
        loop {
            let told = self.inbox.told.notified();
            if let Some(event) = self.try_next() {
                return event;
            }
            told.await;
        }
    }

    /// The next event, if there is one now.
    pub fn try_next(&self) -> Option<Event> {
        let mut pending = locked(&self.inbox.pending);
        if pending.expired {
            return Some(Event::SessionExpired);
        }
        if std::mem::take(&mut pending.lost) {
            return Some(Event::SessionLost);
        }
        if std::mem::take(&mut pending.resync) {
            return Some(Event::Resync);
        }
        let changed = std::mem::take(&mut pending.changed);
        if changed.is_empty() { None } else { Some(Event::Changed(changed.into_iter().collect())) }
    }
}

/// All watches of one store: what a back end tells its changes to.
#[derive(Debug, Default)]
pub struct Watchers {
    inboxes: Mutex<Vec<Weak<Inbox>>>,
}

impl Watchers {
    /// A watch of `path` and everything below.
    pub fn watch(&self, path: &str) -> Watch {
        let inbox = Arc::new(Inbox {
            path: path.to_owned(),
            below: children_prefix(path),
            pending: Mutex::default(),
            told: Notify::new(),
        });
        let mut inboxes = locked(&self.inboxes);
        inboxes.retain(|inbox| inbox.strong_count() > 0);
        inboxes.push(Arc::downgrade(&inbox));
        Watch { inbox }
    }

    /// Tells everybody concerned.
    pub fn tell(&self, event: &Event) {
        for inbox in locked(&self.inboxes).iter().filter_map(Weak::upgrade) {
            inbox.receive(event);
        }
    }
}

#[derive(Debug)]
struct Inbox {
    path: String,
    below: String,
    pending: Mutex<Pending>,
    told: Notify,
}

#[derive(Debug, Default)]
struct Pending {
    changed: BTreeSet<String>,
    resync: bool,
    lost: bool,
    expired: bool,
}

impl Inbox {
    fn receive(&self, event: &Event) {
        let mut pending = locked(&self.pending);
        match event {
            Event::Changed(paths) => {
                let concerned =
                    |path: &&String| **path == self.path || path.starts_with(&self.below);
                let mut concerned = paths.iter().filter(concerned).peekable();
                if concerned.peek().is_none() {
                    return;
                }
                if !pending.resync {
                    pending.changed.extend(concerned.cloned());
                }
                if pending.changed.len() > PENDING_MAX {
                    pending.resync = true;
                }
            }
            Event::Resync => pending.resync = true,
            Event::SessionLost => pending.lost = true,
            Event::SessionExpired => pending.expired = true,
        }
        if pending.resync {
            pending.changed = BTreeSet::new();
        }
        self.told.notify_one();
    }
}

/// The state is whole after every statement, so a poisoned lock is as good as any.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(paths: &[&str]) -> Event {
        Event::Changed(paths.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_watcher_hears_of_its_subtree_once_per_path() {
        let watchers = Watchers::default();
        let watch = watchers.watch("/a");
        watchers.tell(&changed(&["/ab", "/b"]));
        assert_eq!(watch.try_next(), None);
        watchers.tell(&changed(&["/a/x", "/b"]));
        watchers.tell(&changed(&["/a/x", "/a"]));
        assert_eq!(watch.try_next(), Some(changed(&["/a", "/a/x"])));
        assert_eq!(watch.try_next(), None);
    }

    #[test]
    fn a_watcher_far_behind_is_told_to_read_everything() {
        let watchers = Watchers::default();
        let watch = watchers.watch("/");
        for i in 0..=PENDING_MAX {
            watchers.tell(&changed(&[&format!("/n{i}")]));
        }
        watchers.tell(&changed(&["/late"]));
        assert_eq!(watch.try_next(), Some(Event::Resync));
        assert_eq!(watch.try_next(), None);
        watchers.tell(&changed(&["/after"]));
        assert_eq!(watch.try_next(), Some(changed(&["/after"])));
    }

    #[tokio::test]
    async fn an_event_wakes_who_waits_and_an_expired_session_stays_expired() {
        let watchers = Watchers::default();
        let watch = watchers.watch("/");
        let (event, ()) = tokio::join!(watch.next(), async { watchers.tell(&changed(&["/x"])) });
        assert_eq!(event, changed(&["/x"]));
        watchers.tell(&Event::SessionExpired);
        watchers.tell(&changed(&["/x"]));
        assert_eq!(watch.next().await, Event::SessionExpired);
        assert_eq!(watch.next().await, Event::SessionExpired);
    }
}
