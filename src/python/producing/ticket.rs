//! The native class `Ticket`.

use pyo3::{Bound, PyAny, PyErr, PyResult, Python, pyclass, pymethods};

use super::record_metadata::RecordMetadata;
use crate::client::{self, ClientError};
use crate::python::arguments;
use crate::python::docstrings::stub;
use crate::python::errors::raised;
use crate::python::owned::{Birth, Owned};

/// The number of ticket objects kept for reuse, more than are usually alive at once.
const KEPT: usize = 1 << 16;

#[doc = stub!("Ticket")]
// Python's garbage collector runs after many new allocations, which halves the rate of a producer
// that waits for its tickets. Objects from the freelist do not count as new.
#[pyclass(frozen, freelist = KEPT, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Ticket {
    inner: Owned<client::Ticket>,
}

impl Ticket {
    pub(crate) fn new(ticket: client::Ticket, birth: &Birth) -> Self {
        Self { inner: Owned::new(ticket, birth) }
    }

    /// Ready once the outcome is known.
    pub(crate) fn settling(&self) -> PyResult<impl Future<Output = ()> + Send + use<>> {
        Ok(self.inner.get()?.settling())
    }

    /// Returns the outcome, waiting for it with the interpreter released. A known outcome is
    /// returned without releasing the interpreter, since releasing it would cost more than the rest
    /// of the call.
    fn outcome(
        &self,
        py: Python<'_>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Result<client::RecordMetadata, ClientError>> {
        let ticket = self.inner.get()?;
        let timeout = arguments::timeout("timeout", timeout)?;
        Ok(ticket.outcome().unwrap_or_else(|| py.detach(|| ticket.wait(timeout))))
    }
}

#[pymethods]
impl Ticket {
    #[doc = stub!("Ticket.result")]
    #[pyo3(signature = (timeout=None))]
    fn result(
        &self,
        py: Python<'_>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RecordMetadata> {
        let outcome = self.outcome(py, timeout)?;
        outcome.map(Into::into).map_err(|error| raised(py, error))
    }

    #[doc = stub!("Ticket.exception")]
    #[pyo3(signature = (timeout=None))]
    fn exception(
        &self,
        py: Python<'_>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<PyErr>> {
        match self.outcome(py, timeout)? {
            Ok(_) => Ok(None),
            Err(error) if self.done()? => Ok(Some(raised(py, error))),
            Err(error) => Err(raised(py, error)),
        }
    }

    #[doc = stub!("Ticket.done")]
    fn done(&self) -> PyResult<bool> {
        Ok(self.inner.get()?.is_done())
    }

    fn __repr__(&self) -> &'static str {
        match self.inner.get() {
            Ok(ticket) if ticket.is_done() => "<Ticket done>",
            _ => "<Ticket on its way>",
        }
    }
}
