//! Blocking on a future on the calling thread, without any runtime.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::io::Clock;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks until `future` is ready.
pub(super) fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        // A wake between the poll and this call leaves a token, so that `park` returns at once.
        thread::park();
    }
}

/// Blocks until `future` is ready, or for `patience`; then returns `None`.
pub(super) fn wait_for<F: Future>(
    future: F,
    patience: Duration,
    clock: &dyn Clock,
) -> Option<F::Output> {
    let deadline = clock.monotonic().saturating_add(patience);
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        match deadline.checked_sub(clock.monotonic()) {
            Some(left) if !left.is_zero() => thread::park_timeout(left),
            _ => return None,
        }
    }
}
