//! The gate that all tasks of a process pass each time they are polled: while it is closed, the
//! process is paused.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A gate, open at first.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    waiting: Vec<Waker>,
}

/// A task that goes on only while its gate is open, and not at all once its process has failed.
pub(crate) struct Gated {
    gate: Arc<Gate>,
    has_failed: Arc<AtomicBool>,
    task: Pin<Box<dyn Future<Output = ()>>>,
}

impl Gate {
    /// Lets no task pass until the gate is opened.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Lets the tasks go on.
    pub(crate) fn open(&self) {
        let mut state = self.lock();
        state.is_closed = false;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Puts a task of a process behind the gate.
    pub(crate) fn pass(
        self: &Arc<Self>,
        has_failed: &Arc<AtomicBool>,
        task: impl Future<Output = ()> + 'static,
    ) -> Gated {
        let (gate, has_failed) = (Arc::clone(self), Arc::clone(has_failed));
        Gated { gate, has_failed, task: Box::pin(task) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Future for Gated {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.gate.lock();
        if state.is_closed {
            state.waiting.push(context.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        if self.has_failed.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        self.task.as_mut().poll(context)
    }
}
