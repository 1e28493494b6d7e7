//! One of several independent iterators over a consumer.

use std::sync::Arc;
use std::time::Duration;

use pyo3::{Bound, Py, PyResult, Python, pyclass, pymethods};

use super::consumer::Consumer;
use super::hooks::Place;
use super::message::Message;
use crate::client::{self, ClientError};
use crate::python::errors::raised;
use crate::python::owned::Owned;

type Inner = client::Stream<Arc<client::Consumer>>;

/// The messages of some of a consumer's partitions.
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Stream {
    inner: Owned<Part>,
    consumer: Py<Consumer>,
}

#[derive(Debug)]
struct Part {
    consumer: Arc<client::Consumer>,
    stream: Inner,
}

impl Stream {
    /// Parts a consumer into so many streams.
    pub(crate) fn part(consumer: &Bound<'_, Consumer>, count: usize) -> PyResult<Vec<Self>> {
        let reader = consumer.get().reader();
        let shared = reader.get()?;
        let streams = client::Stream::part(shared, count);
        let streams = streams.map_err(|error| raised(consumer.py(), error))?;
        let stream = |stream| {
            let part = Part { consumer: Arc::clone(shared), stream };
            Self { inner: Owned::new(part, reader.birth()), consumer: consumer.clone().unbind() }
        };
        Ok(streams.into_iter().map(stream).collect())
    }
}

impl Stream {
    /// What it reads from.
    pub(crate) fn place(&self) -> PyResult<&dyn Place> {
        Ok(self.inner.get()?)
    }

    /// The consumer that it is a part of.
    pub(crate) fn consumer(&self) -> &Consumer {
        self.consumer.get()
    }
}

impl Place for Part {
    fn consumer(&self) -> &client::Consumer {
        &self.consumer
    }

    fn try_next(&self) -> Result<Option<client::Message>, ClientError> {
        self.stream.try_next()
    }

    fn next(&self, timeout: Option<Duration>) -> Result<Option<client::Message>, ClientError> {
        self.stream.next_within(timeout)
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

    fn commit(&self, py: Python<'_>, message: &Bound<'_, Message>) -> PyResult<()> {
        self.consumer.get().commit_after(py, message)
    }
}
