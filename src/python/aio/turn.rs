//! Letting others have the loop: who takes messages that are all there never waits.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};

use pyo3::{PyResult, Python};

use crate::python::reading::monotonic;

/// Seconds after which others have a turn.
const TURN_SECONDS: f64 = 0.005;
/// Messages between two looks at the clock.
const LOOK_EVERY: u32 = 32;

/// How long a reader has had the loop.
#[derive(Debug, Default)]
pub(super) struct Turn {
    taken: AtomicU32,
    /// The bits of the time at which it began.
    begin: AtomicU64,
}

/// Ready when the loop comes round again.
#[derive(Debug, Default)]
pub(super) struct Round {
    is_begun: bool,
}

impl Turn {
    /// Whether it is over, asked before each message.
    pub(super) fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        if !self.taken.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOK_EVERY) {
            return Ok(false);
        }
        let begin = f64::from_bits(self.begin.load(Ordering::Relaxed));
        Ok(monotonic(py)? - begin > TURN_SECONDS)
    }

    /// The next one begins: the reader waits now, and others go on.
    pub(super) fn pass(&self, py: Python<'_>) -> PyResult<()> {
        self.begin.store(monotonic(py)?.to_bits(), Ordering::Relaxed);
        Ok(())
    }
}

impl Future for Round {
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
