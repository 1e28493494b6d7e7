//! The native class `UntilEnd`: reading up to the current end.

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

type Inner = client::UntilEnd<Arc<client::Consumer>>;

#[doc = stub!("UntilEnd")]
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct UntilEnd {
    inner: Owned<Inner>,
    /// Keeps the consumer alive: without references it would be closed.
    consumer: Py<Consumer>,
}

impl UntilEnd {
    /// Reads up to the current ends.
    pub(crate) fn of(py: Python<'_>, consumer: Py<Consumer>) -> PyResult<Self> {
        let reader = consumer.get().reader();
        let shared = Arc::clone(reader.get()?);
        let messages = py.detach(|| client::UntilEnd::of(shared));
        Ok(Self::up_to(consumer, messages.map_err(|error| raised(py, error))?))
    }

    /// Reads up to known ends.
    pub(crate) fn up_to(consumer: Py<Consumer>, messages: Inner) -> Self {
        let inner = Owned::new(messages, consumer.get().reader().birth());
        Self { inner, consumer }
    }

    /// The place to read from.
    pub(crate) fn place(&self) -> PyResult<&dyn Place> {
        Ok(self.inner.get()?)
    }

    /// The consumer.
    pub(crate) fn consumer(&self) -> &Consumer {
        self.consumer.get()
    }
}

impl Place for Inner {
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
        self.consumer.get().hooks().next(py, self.inner.get()?, None)
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
        ArrowBatches::of(py, Source::UntilEnd(this), options)
    }
}
