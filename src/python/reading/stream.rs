//! The native class `Stream`.

use std::sync::Arc;
use std::time::Duration;

use pyo3::types::PyDict;
use pyo3::{Bound, Py, PyResult, Python, pyclass, pymethods};

use super::arrow::{ArrowBatches, Source};
use super::consumer::Consumer;
use super::hooks::Place;
use super::message::Message;
use crate::client::{self, ClientError, Patience, Rows};
use crate::python::docstrings::stub;
use crate::python::errors::raised;
use crate::python::owned::Owned;

#[doc = stub!("Stream")]
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Stream {
    inner: Owned<Part>,
    consumer: Py<Consumer>,
}

/// A stream with its number.
#[derive(Debug)]
struct Part {
    number: usize,
    stream: client::Stream<Arc<client::Consumer>>,
}

impl Stream {
    /// Splits a consumer into streams.
    pub(crate) fn part(consumer: &Bound<'_, Consumer>, count: usize) -> PyResult<Vec<Self>> {
        let reader = consumer.get().reader();
        let streams = client::Stream::part(reader.get()?, count);
        let streams = streams.map_err(|error| raised(consumer.py(), error))?;
        let part = |(number, stream)| {
            let inner = Owned::new(Part { number, stream }, reader.birth());
            Self { inner, consumer: consumer.clone().unbind() }
        };
        Ok(streams.into_iter().enumerate().map(part).collect())
    }

    /// The consumer.
    pub(crate) fn consumer(&self) -> &Consumer {
        self.consumer.get()
    }

    /// The place to read from.
    pub(crate) fn place(&self) -> PyResult<&dyn Place> {
        Ok(self.inner.get()?)
    }
}

impl Place for Part {
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
        self.consumer.get().hooks().next(py, self.inner.get()?, None)
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
        ArrowBatches::of(py, Source::Stream(this), options)
    }

    #[doc = stub!("Stream.commit")]
    fn commit(&self, py: Python<'_>, message: &Bound<'_, Message>) -> PyResult<()> {
        self.consumer.get().commit_after(py, message)
    }
}
