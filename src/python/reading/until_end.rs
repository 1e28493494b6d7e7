//! The native class `UntilEnd`: reading up to the current end.

use std::sync::Arc;
use std::time::Duration;

use pyo3::types::PyDict;
use pyo3::{Bound, Py, PyResult, Python, pyclass, pymethods};

use super::arrow::ArrowBatches;
use super::hooks::Hooks;
use super::message::Message;
use super::session::{ByPartition, Readable, Session, SessionRef};
use super::source::Source;
use crate::client::{self, ClientError, Patience, Rows};
use crate::python::docstrings::stub;
use crate::python::errors::raised;
use crate::python::owned::Owned;

type Inner = client::UntilEnd<Arc<client::Consumer>>;

#[doc = stub!("UntilEnd")]
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct UntilEnd {
    inner: Owned<Inner>,
    session: SessionRef,
}

impl UntilEnd {
    /// Reads up to the current ends.
    pub(super) fn of(py: Python<'_>, session: SessionRef) -> PyResult<Self> {
        let consumer = Arc::clone(session.consumer().get()?);
        let messages = py.detach(|| client::UntilEnd::of(consumer));
        Ok(Self::up_to(session, messages.map_err(|error| raised(py, error))?))
    }

    /// Reads up to known ends.
    pub(crate) fn up_to(session: SessionRef, messages: Inner) -> Self {
        let inner = Owned::new(messages, session.consumer().birth());
        Self { inner, session }
    }
}

impl Readable for Py<UntilEnd> {
    fn source(&self) -> PyResult<Option<&dyn Source>> {
        Ok(Some(self.get().inner.get()?))
    }

    fn session(&self) -> Option<&Session> {
        Some(&self.get().session)
    }

    fn hooks(&self) -> &Hooks {
        self.get().session.hooks()
    }

    fn positions(&self) -> PyResult<ByPartition<Option<i64>>> {
        self.get().session.positions()
    }
}

impl Source for Inner {
    fn consumer(&self) -> &client::Consumer {
        client::UntilEnd::consumer(self)
    }

    fn try_next(&self) -> Result<Option<client::Message>, ClientError> {
        client::UntilEnd::try_next(self)
    }

    fn next(&self, timeout: Option<Duration>) -> Result<Option<client::Message>, ClientError> {
        client::UntilEnd::next_within(self, timeout)
    }

    fn read_into(&self, rows: &mut Rows, patience: Patience) -> Result<(), ClientError> {
        client::UntilEnd::read_into(self, rows, patience)
    }

    fn is_over(&self) -> bool {
        client::UntilEnd::is_done(self)
    }
}

#[pymethods]
impl UntilEnd {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        self.session.hooks().next(py, self.inner.get()?, None)
    }

    #[doc = stub!("UntilEnd.arrow")]
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, columns=None, max_rows=65536, max_bytes='4 MiB', max_wait=0.2)"
    )]
    fn arrow(
        this: Py<Self>,
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<ArrowBatches> {
        ArrowBatches::of(py, this, options)
    }
}
