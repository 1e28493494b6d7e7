//! A value of which only the latest version counts, and tasks that wait for the next version.
//!
//! As tokio's `watch`, and with its names, but tasks are woken in the order in which they began to
//! wait. tokio chooses a random order, and a simulation must depend on nothing but its seed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::Notify;

/// The owner of a value, which replaces it. When it is dropped, no task waits any more.
#[derive(Debug)]
pub struct Latest<T> {
    shared: Arc<Shared<T>>,
}

/// A reader of a value, which knows the last version that it has seen.
#[derive(Clone, Debug)]
pub struct Watcher<T> {
    shared: Arc<Shared<T>>,
    seen: u64,
}

/// The value will not be replaced any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the owner of the value is gone")]
pub struct Closed;

#[derive(Debug)]
struct Shared<T> {
    current: RwLock<Version<T>>,
    replaced: Notify,
    is_closed: AtomicBool,
}

#[derive(Debug)]
struct Version<T> {
    number: u64,
    value: T,
}

impl<T: Clone> Latest<T> {
    /// Creates the first version.
    pub fn new(value: T) -> Self {
        let current = RwLock::new(Version { number: 1, value });
        let (replaced, is_closed) = (Notify::new(), AtomicBool::new(false));
        Self { shared: Arc::new(Shared { current, replaced, is_closed }) }
    }

    /// The current value.
    pub fn borrow(&self) -> T {
        self.shared.read().value.clone()
    }

    /// A reader that has seen the current version.
    pub fn subscribe(&self) -> Watcher<T> {
        let seen = self.shared.read().number;
        Watcher { shared: Arc::clone(&self.shared), seen }
    }

    /// Replaces the value.
    pub fn send_replace(&self, value: T) {
        self.send_if_modified(|current| {
            *current = value;
            true
        });
    }

    /// Changes the value, and wakes the tasks that wait if `change` returns true.
    pub fn send_if_modified(&self, change: impl FnOnce(&mut T) -> bool) {
        let mut current = self.shared.write();
        if !change(&mut current.value) {
            return;
        }
        current.number += 1;
        drop(current);
        self.shared.replaced.notify_waiters();
    }
}

impl<T: Clone> Watcher<T> {
    /// The current value.
    pub fn borrow(&self) -> T {
        self.shared.read().value.clone()
    }

    /// The current value, which counts as seen.
    pub fn borrow_and_update(&mut self) -> T {
        let current = self.shared.read();
        self.seen = current.number;
        current.value.clone()
    }

    /// Counts the current version as unseen: [`changed`](Self::changed) returns at once.
    pub fn mark_changed(&mut self) {
        self.seen = 0;
    }

    /// Counts the current version as seen.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.read().number;
    }

    /// Waits until there is a version that has not been seen, which then counts as seen.
    ///
    /// # Errors
    /// If there will be none.
    pub async fn changed(&mut self) -> Result<(), Closed> {
        loop {
            let replaced = self.shared.replaced.notified();
            // Before the number: the owner may send a last version and go in between.
            let is_closed = self.shared.is_closed.load(Ordering::Acquire);
            let number = self.shared.read().number;
            if number != self.seen {
                self.seen = number;
                return Ok(());
            }
            if is_closed {
                return Err(Closed);
            }
            replaced.await;
        }
    }

    /// Waits until the value is as expected, and returns it.
    ///
    /// # Errors
    /// If the owner is gone before.
    pub async fn wait_for(&mut self, mut expected: impl FnMut(&T) -> bool) -> Result<T, Closed> {
        loop {
            let value = self.borrow_and_update();
            if expected(&value) {
                return Ok(value);
            }
            self.changed().await?;
        }
    }
}

impl<T> Shared<T> {
    // The value is valid after any panic: the closures of writers replace it as a whole.
    fn read(&self) -> RwLockReadGuard<'_, Version<T>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Version<T>> {
        self.current.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Latest<T> {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Release);
        self.shared.replaced.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::task::JoinSet;

    use super::*;

    #[tokio::test]
    async fn tasks_are_woken_in_the_order_in_which_they_began_to_wait() {
        let latest = Latest::new(0);
        let woken = Arc::new(Mutex::new(Vec::new()));
        let mut waiting = JoinSet::new();
        for name in 0..50 {
            let (mut watcher, woken) = (latest.subscribe(), Arc::clone(&woken));
            waiting.spawn(async move {
                watcher.changed().await.unwrap();
                woken.lock().unwrap().push(name);
            });
        }
        tokio::task::yield_now().await;
        latest.send_replace(1);
        waiting.join_all().await;
        assert_eq!(*woken.lock().unwrap(), (0..50).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_version_is_seen_once_and_the_last_one_even_after_the_end() {
        let latest = Latest::new(1);
        let mut watcher = latest.subscribe();
        latest.send_if_modified(|_| false);
        latest.send_replace(2);
        latest.send_replace(3);
        assert_eq!(watcher.borrow(), 3);
        watcher.changed().await.unwrap();
        drop(latest);
        assert_eq!(watcher.changed().await, Err(Closed));
        watcher.mark_changed();
        assert_eq!(watcher.changed().await, Ok(()));
        assert_eq!(watcher.wait_for(|value| *value == 3).await, Ok(3));
        assert_eq!(watcher.wait_for(|value| *value == 4).await, Err(Closed));
    }
}
