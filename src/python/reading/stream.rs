//! The native class `Stream`.

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

#[doc = stub!("Stream")]
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Stream {
    inner: Owned<Numbered>,
    session: SessionRef,
}

/// A stream with its number.
#[derive(Debug)]
struct Numbered {
    number: usize,
    stream: client::Stream<Arc<client::Consumer>>,
}

impl Stream {
    /// Splits a consumer into streams.
    pub(super) fn split(py: Python<'_>, session: &SessionRef, count: usize) -> PyResult<Vec<Self>> {
        let consumer = session.consumer();
        let streams = client::Stream::part(consumer.get()?, count);
        let streams = streams.map_err(|error| raised(py, error))?;
        let stream = |(number, stream)| {
            let inner = Owned::new(Numbered { number, stream }, consumer.birth());
            Self { inner, session: session.clone_ref(py) }
        };
        Ok(streams.into_iter().enumerate().map(stream).collect())
    }
}

impl Readable for Py<Stream> {
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

impl Source for Numbered {
    fn consumer(&self) -> &client::Consumer {
        self.stream.consumer()
    }

    fn stream(&self) -> usize {
        self.number
    }

    fn try_next(&self) -> Result<Option<client::Message>, ClientError> {
        self.stream.try_next()
    }

    fn next(&self, timeout: Option<Duration>) -> Result<Option<client::Message>, ClientError> {
        self.stream.next_within(timeout)
    }

    fn read_into(&self, rows: &mut Rows, patience: Patience) -> Result<(), ClientError> {
        self.stream.read_into(rows, patience)
    }
}

#[pymethods]
impl Stream {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        self.session.hooks().next(py, self.inner.get()?, None)
    }

    #[doc = stub!("Stream.arrow")]
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

    #[doc = stub!("Stream.commit")]
    fn commit(&self, py: Python<'_>, message: &Bound<'_, Message>) -> PyResult<()> {
        self.session.commit_after(py, message)
    }
}
