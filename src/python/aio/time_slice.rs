//! Yielding to other tasks: a reader whose messages are all available would never wait.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};

use pyo3::{PyResult, Python};

use crate::python::arguments::monotonic;

/// The time after which a reader yields.
const SLICE_SECONDS: f64 = 0.005;
/// The number of messages between two checks of the clock.
const CHECK_EVERY: u32 = 32;

/// The time for which a reader has held the loop.
#[derive(Debug, Default)]
pub(super) struct TimeSlice {
    taken: AtomicU32,
    /// The bits of the `f64` time at which the slice started.
    begin: AtomicU64,
}

/// A future that is ready in the next iteration of the loop.
#[derive(Debug, Default)]
pub(super) struct NextIteration {
    is_begun: bool,
}

impl TimeSlice {
    /// Returns true if the reader should yield; checked before each message.
    pub(super) fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        if !self.taken.fetch_add(1, Ordering::Relaxed).is_multiple_of(CHECK_EVERY) {
            return Ok(false);
        }
        let begin = f64::from_bits(self.begin.load(Ordering::Relaxed));
        Ok(monotonic(py)? - begin > SLICE_SECONDS)
    }

    /// Starts a new period, while the reader waits and other tasks run.
    pub(super) fn restart(&self, py: Python<'_>) -> PyResult<()> {
        self.begin.store(monotonic(py)?.to_bits(), Ordering::Relaxed);
        Ok(())
    }
}

impl Future for NextIteration {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_begun {
            return Poll::Ready(());
        }
        self.is_begun = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
