//! Reading what there is now, and no more.

use std::sync::Arc;
use std::time::Duration;

use pyo3::types::PyDict;
use pyo3::{Bound, Py, PyResult, Python, pyclass, pymethods};

use super::arrow::{ArrowBatches, Source};
use super::consumer::Consumer;
use super::hooks::Place;
use super::message::Message;
use crate::client::{self, ClientError, Patience, Rows};
use crate::python::errors::raised;
use crate::python::owned::Owned;

type Inner = client::UntilEnd<Arc<client::Consumer>>;

/// Iterates over the messages of a consumer up to ends that are fixed.
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct UntilEnd {
    inner: Owned<Bounded>,
    /// A consumer that nobody holds is closed.
    consumer: Py<Consumer>,
}

#[derive(Debug)]
struct Bounded {
    consumer: Arc<client::Consumer>,
    messages: Inner,
}

impl UntilEnd {
    /// Up to the ends as they are now.
    pub(crate) fn of(py: Python<'_>, consumer: Py<Consumer>) -> PyResult<Self> {
        let reader = consumer.get().reader();
        let shared = Arc::clone(reader.get()?);
        let messages = py.detach(|| client::UntilEnd::of(shared));
        Self::up_to(consumer, messages.map_err(|error| raised(py, error))?)
    }

    /// Up to ends that are known.
    pub(crate) fn up_to(consumer: Py<Consumer>, messages: Inner) -> PyResult<Self> {
        let reader = consumer.get().reader();
        let bounded = Bounded { consumer: Arc::clone(reader.get()?), messages };
        let inner = Owned::new(bounded, reader.birth());
        Ok(Self { inner, consumer })
    }

    /// What it reads from.
    pub(crate) fn place(&self) -> PyResult<&dyn Place> {
        Ok(self.inner.get()?)
    }

    /// The consumer whose messages they are.
    pub(crate) fn consumer(&self) -> &Consumer {
        self.consumer.get()
    }
}

impl Place for Bounded {
    fn consumer(&self) -> &client::Consumer {
        &self.consumer
    }

    fn try_next(&self) -> Result<Option<client::Message>, ClientError> {
        self.messages.try_next()
    }

    fn next(&self, timeout: Option<Duration>) -> Result<Option<client::Message>, ClientError> {
        self.messages.next_within(timeout)
    }

    fn read_into(&self, rows: &mut Rows, patience: Patience) -> Result<(), ClientError> {
        self.messages.read_into(rows, patience)
    }

    fn is_over(&self) -> bool {
        self.messages.is_done()
    }
}

#[pymethods]
impl UntilEnd {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        self.consumer.get().hooks().next(py, self.inner.get()?, None)
    }

    /// Iterates over Arrow record batches up to these ends, as ``Consumer.arrow`` has them.
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, columns=None, max_rows=65536, max_bytes='4 MiB', max_wait=0.2)"
    )]
    fn arrow(
        this: Py<Self>,
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<ArrowBatches> {
        ArrowBatches::of(py, Source::UntilEnd(this), options)
    }
}
