//! Delivery of changes to watchers: coalesced, bounded, never blocking.
//!
//! A [`Watch`] holds the set of paths that changed since the last call, not a queue of changes.
//! Beyond a bound the set becomes "anything may have changed". So a slow watcher costs little
//! memory and delays neither writers nor other watchers. A read after an event returns a state at
//! least as new as the event.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use crate::metadata::store::children_prefix;

/// The maximum number of pending paths before a watcher must read everything again.
const PENDING_MAX: usize = 4096;

/// An event for a watcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// These nodes were created, written or deleted, possibly several times.
    Changed(Vec<String>),
    /// Anything may have changed: read everything again.
    Resync,
    /// The store cannot be reached, so it may end the session unnoticed. `Resync` follows when the
    /// store can be reached again in this session.
    SessionLost,
    /// The store has ended the session, and with it its ephemeral nodes, or takes no more writes.
    /// From then on the watch reports nothing else.
    SessionExpired,
}

/// A receiver of the events of some subtrees.
#[derive(Debug)]
pub struct Watch {
    inbox: Arc<Inbox>,
}

impl Watch {
    /// Waits for the next event. Cancel-safe.
    pub async fn next(&self) -> Event {
        loop {
            let notified = self.inbox.notify.notified();
            if let Some(event) = self.try_next() {
                return event;
            }
            notified.await;
        }
    }

    /// The next event, if one is pending.
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

/// All watches of a store, to which it reports its changes.
#[derive(Debug, Default)]
pub struct Watchers {
    inboxes: Mutex<Vec<Weak<Inbox>>>,
}

impl Watchers {
    /// Creates a watch of these nodes and their descendants.
    pub fn watch(&self, subtrees: &[&str]) -> Watch {
        let inbox = Arc::new(Inbox {
            subtrees: subtrees.iter().map(|path| Subtree::of(path)).collect(),
            pending: Mutex::default(),
            notify: Notify::new(),
        });
        let mut inboxes = locked(&self.inboxes);
        inboxes.retain(|inbox| inbox.strong_count() > 0);
        inboxes.push(Arc::downgrade(&inbox));
        Watch { inbox }
    }

    /// Reports an event to all watches concerned.
    pub fn publish(&self, event: &Event) {
        for inbox in locked(&self.inboxes).iter().filter_map(Weak::upgrade) {
            inbox.receive(event);
        }
    }
}

#[derive(Debug)]
struct Subtree {
    root: String,
    below: String,
}

impl Subtree {
    fn of(root: &str) -> Self {
        Self { root: root.to_owned(), below: children_prefix(root) }
    }

    fn contains(&self, path: &str) -> bool {
        path == self.root || path.starts_with(&self.below)
    }
}

#[derive(Debug)]
struct Inbox {
    subtrees: Vec<Subtree>,
    pending: Mutex<Pending>,
    notify: Notify,
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
                    |path: &&String| self.subtrees.iter().any(|subtree| subtree.contains(path));
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
        self.notify.notify_one();
    }
}

/// Locks a mutex. Every statement leaves the state consistent, so a poisoned lock is harmless.
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
    fn a_watcher_sees_each_changed_path_of_its_subtrees_once() {
        let watchers = Watchers::default();
        let watch = watchers.watch(&["/a", "/c"]);
        watchers.publish(&changed(&["/ab", "/b"]));
        assert_eq!(watch.try_next(), None);
        watchers.publish(&changed(&["/c", "/b"]));
        assert_eq!(watch.try_next(), Some(changed(&["/c"])));
        watchers.publish(&changed(&["/a/x", "/b"]));
        watchers.publish(&changed(&["/a/x", "/a"]));
        assert_eq!(watch.try_next(), Some(changed(&["/a", "/a/x"])));
        assert_eq!(watch.try_next(), None);
    }

    #[test]
    fn a_watcher_far_behind_is_told_to_read_everything() {
        let watchers = Watchers::default();
        let watch = watchers.watch(&["/"]);
        for i in 0..=PENDING_MAX {
            watchers.publish(&changed(&[&format!("/n{i}")]));
        }
        watchers.publish(&changed(&["/late"]));
        assert_eq!(watch.try_next(), Some(Event::Resync));
        assert_eq!(watch.try_next(), None);
        watchers.publish(&changed(&["/after"]));
        assert_eq!(watch.try_next(), Some(changed(&["/after"])));
    }

    #[tokio::test]
    async fn an_event_wakes_a_waiting_watcher_and_an_expired_session_stays_expired() {
        let watchers = Watchers::default();
        let watch = watchers.watch(&["/"]);
        let (event, ()) = tokio::join!(watch.next(), async { watchers.publish(&changed(&["/x"])) });
        assert_eq!(event, changed(&["/x"]));
        watchers.publish(&Event::SessionExpired);
        watchers.publish(&changed(&["/x"]));
        assert_eq!(watch.next().await, Event::SessionExpired);
        assert_eq!(watch.next().await, Event::SessionExpired);
    }
}
