//! Reading what there is now, and no more.

use std::sync::Arc;

use pyo3::{Py, PyResult, Python, pyclass, pymethods};

use super::consumer::Consumer;
use super::message::Message;
use crate::client::{self, ClientError};
use crate::python::errors::raised;
use crate::python::owned::Owned;

/// The messages of a consumer up to the ends that its partitions had.
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct UntilEnd {
    inner: Owned<client::UntilEnd<Arc<client::Consumer>>>,
    /// A consumer that nobody holds is closed.
    _consumer: Py<Consumer>,
}

impl UntilEnd {
    /// Up to the ends as they are now.
    pub(crate) fn of(py: Python<'_>, consumer: Py<Consumer>) -> PyResult<Self> {
        let reader = consumer.get().reader();
        let shared = Arc::clone(reader.get()?);
        let messages = py.detach(|| client::UntilEnd::of(shared));
        let messages = messages.map_err(|error| raised(py, error))?;
        Ok(Self { inner: Owned::new(messages, reader.birth()), _consumer: consumer })
    }
}

#[pymethods]
impl UntilEnd {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        let messages = self.inner.get()?;
        match py.detach(|| messages.next_within(None)) {
            Ok(message) => Ok(message.map(Into::into)),
            Err(ClientError::Closed) => Ok(None),
            Err(error) => Err(raised(py, error)),
        }
    }
}
