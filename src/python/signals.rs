//! Signals that reach the interpreter while one of its threads waits in a call.

use std::os::fd::RawFd;

use pyo3::types::PyAnyMethods;
use pyo3::{PyErr, PyResult, Python};

use crate::client::Signals;

/// The interpreter that runs in this process: handlers run on its main thread.
#[derive(Debug)]
pub(super) struct Interpreter;

impl Signals for Interpreter {
    fn watch(&self, pipe: RawFd) -> Option<RawFd> {
        if !may_be_main_thread() {
            return None;
        }
        Python::attach(|py| {
            // The exception of a handler that has interrupted another wait may be pending.
            let pending = PyErr::take(py);
            let before = set_wakeup_fd(py, pipe).ok();
            if let Some(pending) = pending {
                pending.restore(py);
            }
            before
        })
    }

    fn restore(&self, before: RawFd, missed: &[u8]) {
        Python::attach(|py| {
            // A handler's exception may be pending in this thread.
            let pending = PyErr::take(py);
            let restored = set_wakeup_fd(py, before).and_then(|_| match (before, missed) {
                (..0, _) | (_, []) => Ok(()),
                _ => py.import("os")?.call_method1("write", (before, missed)).map(drop),
            });
            if let Err(error) = restored {
                tracing::debug!(%error, "signals that arrived during a wait were not passed on");
            }
            if let Some(pending) = pending {
                pending.restore(py);
            }
        });
    }

    /// Runs the handlers. Returns true if one of them raised; its exception is then pending in this
    /// thread, for [`raised`](super::errors::raised) to take.
    fn gives_up(&self) -> bool {
        Python::attach(|py| {
            let raised = PyErr::take(py).or_else(|| py.check_signals().err());
            let gives_up = raised.is_some();
            if let Some(raised) = raised {
                raised.restore(py);
            }
            gives_up
        })
    }
}

/// Returns true if this may be the main thread: Python accepts `set_wakeup_fd` on no other.
#[cfg(target_os = "linux")]
fn may_be_main_thread() -> bool {
    nix::unistd::gettid() == nix::unistd::getpid()
}

/// Always true: on other systems only the interpreter knows its main thread, and it refuses
/// `set_wakeup_fd` on any other.
#[cfg(not(target_os = "linux"))]
fn may_be_main_thread() -> bool {
    true
}

/// Makes Python write each signal's number to a descriptor; returns the previous one.
fn set_wakeup_fd(py: Python<'_>, descriptor: RawFd) -> PyResult<RawFd> {
    py.import("signal")?.call_method1("set_wakeup_fd", (descriptor,))?.extract()
}
