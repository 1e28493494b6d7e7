//! What a signal means to a waiting thread: the interpreter's handlers run, and may end the wait.

use pyo3::Python;

/// Runs the handlers of signals that came. `true` when one of them raised: its exception is then
/// pending in this thread, for `errors::raised` to take.
pub(super) fn gives_up() -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(raised) => {
            raised.restore(py);
            true
        }
    })
}
