//! A condition for which threads wait until other threads bring it about.
//!
//! A waiting thread sleeps in `poll(2)` on a [`WakeFd`] of its own, without polling intervals. It
//! wakes when the condition may hold, at its deadline, and on a signal. The caller decides what a
//! signal means: an interpreter, for instance, runs its handlers. A signal that arrives just before
//! the sleep does not interrupt it. A host that must not miss a signal has its signals written to a
//! descriptor, as Python's `signal.set_wakeup_fd` does. The sleep watches that descriptor too.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};

use crate::io::{Clock, WakeFd};

/// The longest single sleep. The system accepts no number of seconds beyond 2⁶³.
const SLEEP_MAX: Duration = Duration::from_hours(24);

/// The threads that wait for one kind of change.
#[derive(Debug, Default)]
pub struct Gate {
    sleepers: Mutex<Vec<Arc<WakeFd>>>,
}

/// The outcome of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited<T> {
    /// The awaited value.
    Ready(T),
    /// The deadline passed.
    TimedOut,
    /// A signal arrived; waiting again is allowed.
    Signal,
}

impl Gate {
    /// A gate without waiting threads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes every waiting thread to try again. Call it after the change.
    pub fn wake_all(&self) {
        for sleeper in self.sleepers().drain(..) {
            sleeper.wake();
        }
    }

    /// Waits until `attempt` returns a value, or until `clock` reaches `deadline`.
    ///
    /// `attempt` is called at once, and again after every [`wake_all`](Self::wake_all). The wait
    /// also ends with [`Waited::Signal`] while `signals` is readable.
    ///
    /// # Errors
    /// If no descriptor is available to wait on.
    pub fn wait<T>(
        &self,
        clock: &dyn Clock,
        deadline: Option<Duration>,
        signals: Option<BorrowedFd<'_>>,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> io::Result<Waited<T>> {
        if let Some(ready) = attempt() {
            return Ok(Waited::Ready(ready));
        }
        let sleeper = Arc::new(WakeFd::new()?);
        loop {
            self.sleepers().push(Arc::clone(&sleeper));
            // Try again after registering: the change may have come before, and its `wake_all`
            // missed this thread.
            let waited = if let Some(ready) = attempt() {
                Some(Waited::Ready(ready))
            } else {
                let left = deadline.map(|end| end.saturating_sub(clock.monotonic()));
                sleep(&sleeper, left, signals)?
            };
            self.sleepers().retain(|other| !Arc::ptr_eq(other, &sleeper));
            if let Some(waited) = waited {
                return Ok(waited);
            }
            if let Some(ready) = attempt() {
                return Ok(Waited::Ready(ready));
            }
            sleeper.clear();
        }
    }

    fn sleepers(&self) -> MutexGuard<'_, Vec<Arc<WakeFd>>> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sleeps until woken (`None`), or until another reason ends the wait.
fn sleep<T>(
    sleeper: &WakeFd,
    left: Option<Duration>,
    signals: Option<BorrowedFd<'_>>,
) -> io::Result<Option<Waited<T>>> {
    if left == Some(Duration::ZERO) {
        return Ok(Some(Waited::TimedOut));
    }
    let is_cut = left.is_some_and(|left| left > SLEEP_MAX);
    let span = left.map(|left| left.min(SLEEP_MAX));
    let wake = sleeper.as_fd();
    let mut watched = [wake, signals.unwrap_or(wake)].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    match poll(&mut watched, span) {
        Ok(0) if is_cut => Ok(None),
        Ok(0) => Ok(Some(Waited::TimedOut)),
        Ok(_) if signals.is_some() && watched[1].any() == Some(true) => Ok(Some(Waited::Signal)),
        Ok(_) => Ok(None),
        Err(Errno::EINTR) => Ok(Some(Waited::Signal)),
        Err(error) => Err(error.into()),
    }
}

/// Sleeps until a descriptor is readable, or for `span`.
#[cfg(target_os = "linux")]
fn poll(watched: &mut [PollFd<'_>], span: Option<Duration>) -> nix::Result<i32> {
    nix::poll::ppoll(watched, span.map(nix::sys::time::TimeSpec::from), None)
}

/// Sleeps until a descriptor is readable, or for `span`, rounded up to whole milliseconds so that a
/// deadline has passed after the sleep.
#[cfg(not(target_os = "linux"))]
fn poll(watched: &mut [PollFd<'_>], span: Option<Duration>) -> nix::Result<i32> {
    use nix::poll::PollTimeout;

    let millis = span.map(|span| span.as_nanos().div_ceil(1_000_000));
    let timeout = millis.map_or(PollTimeout::NONE, |millis| {
        PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX)
    });
    nix::poll::poll(watched, timeout)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use crate::io::SystemClock;

    #[test]
    fn a_wait_ends_when_the_change_comes() {
        let gate = Gate::new();
        let changed = AtomicBool::new(false);
        let attempt = || changed.load(Ordering::Acquire).then_some(7);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.wait(&SystemClock, None, None, attempt).unwrap());
            changed.store(true, Ordering::Release);
            gate.wake_all();
            assert_eq!(waiting.join().unwrap(), Waited::Ready(7));
        });
        assert!(gate.sleepers().is_empty());
    }

    #[test]
    fn a_wait_may_last_longer_than_the_system_can_count() {
        let gate = Gate::new();
        let attempts = AtomicUsize::new(0);
        let attempt = || {
            // The waiting thread wakes itself before it sleeps, so that the sleep ends at once.
            gate.wake_all();
            (attempts.fetch_add(1, Ordering::Relaxed) == 2).then_some(7)
        };
        let waited = gate.wait(&SystemClock, Some(Duration::MAX), None, attempt).unwrap();
        assert_eq!(waited, Waited::Ready(7));
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        let gate = Gate::new();
        let begin = SystemClock.monotonic();
        let deadline = begin + Duration::from_millis(20);
        let waited = gate.wait(&SystemClock, Some(deadline), None, || None::<()>).unwrap();
        assert_eq!(waited, Waited::TimedOut);
        assert!(SystemClock.monotonic() >= deadline);
        assert!(gate.sleepers().is_empty());
    }

    #[test]
    fn a_wakeup_without_the_change_does_not_end_the_wait() {
        let gate = Gate::new();
        let calls = AtomicBool::new(false);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let attempt = || calls.load(Ordering::Acquire).then_some(());
                gate.wait(&SystemClock, None, None, attempt)
            });
            for _ in 0..1000 {
                gate.wake_all();
            }
            calls.store(true, Ordering::Release);
            gate.wake_all();
            assert_eq!(waiting.join().unwrap().unwrap(), Waited::Ready(()));
        });
    }

    #[test]
    fn a_signal_that_arrived_before_the_sleep_ends_it() {
        let (read, write) = nix::unistd::pipe().unwrap();
        nix::unistd::write(&write, &[2]).unwrap();
        let gate = Gate::new();
        let deadline = Some(SystemClock.monotonic() + Duration::from_mins(1));
        let waited = gate.wait(&SystemClock, deadline, Some(read.as_fd()), || None::<()>).unwrap();
        assert_eq!(waited, Waited::Signal);
        assert!(gate.sleepers().is_empty());
    }
}
