//! The end of values: the use of the interpreter by values that are dropped, and the end of values
//! that are not dropped before the interpreter ends.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::types::PyAnyMethods;
use pyo3::{Bound, PyErr, PyResult, Python};

/// Has a producer or consumer closed when the interpreter ends, if it still exists then.
pub(super) fn close_at_exit<T>(opened: &Bound<'_, T>) -> PyResult<()> {
    let stopping = opened.py().import("streamlog.stopping")?;
    stopping.call_method1("close_at_exit", (opened.as_any(),)).map(drop)
}

/// Does what the end of a dropped value needs.
///
/// Python drops a value also while an exception leaves the block that used it. That exception is
/// pending in this thread, and calls into Python would lose it: it is put aside meanwhile. If a
/// signal handler raises in the meantime, no caller can receive its exception: Ctrl-C is passed on
/// to the main thread, and any other exception is printed.
pub(super) fn while_dropped(end: impl FnOnce(Python<'_>)) {
    Python::attach(|py| {
        let pending = PyErr::take(py);
        end(py);
        if let Some(raised) = PyErr::take(py) {
            let is_passed_on = raised.is_instance_of::<PyKeyboardInterrupt>(py)
                && py.import("_thread").and_then(|it| it.call_method0("interrupt_main")).is_ok();
            if !is_passed_on {
                raised.write_unraisable(py, None);
            }
        }
        if let Some(pending) = pending {
            pending.restore(py);
        }
    });
}
