//! The native class `Bounded`: reading up to a number of messages, or for some time.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use super::message::Message;
use super::session::SessionRef;
use super::source::Source;
use crate::python::arguments::{self, monotonic};
use crate::python::docstrings::stub;

#[doc = stub!("Bounded")]
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Bounded {
    session: SessionRef,
    left: AtomicU64,
    deadline: Option<f64>,
}

impl Bounded {
    /// Reads `count` messages within `timeout` seconds from now.
    pub(super) fn new(
        py: Python<'_>,
        session: SessionRef,
        count: u64,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let timeout = timeout.map(|given| arguments::seconds("timeout", given)).transpose()?;
        let deadline = timeout.map(|timeout| monotonic(py).map(|now| now + timeout)).transpose()?;
        Ok(Self { session, left: AtomicU64::new(count), deadline })
    }
}

#[pymethods]
impl Bounded {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        let is_left =
            self.left.try_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
        if is_left.is_err() {
            let consumer = self.session.consumer().get()?;
            if !self.session.hooks().held().is_some_and(|held| held.is_any(consumer.stream())) {
                // A call after the last message marks that message as processed.
                consumer.finish();
            }
            return Ok(None);
        }
        let timeout = match self.deadline {
            Some(deadline) => Some((deadline - monotonic(py)?).max(0.0)),
            None => None,
        };
        let message = self.session.next(py, timeout);
        if !matches!(message, Ok(Some(_))) {
            self.left.store(0, Ordering::Release);
        }
        message
    }
}
