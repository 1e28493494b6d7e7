//! Messages by the batch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pyo3::types::{PyAnyMethods, PyList, PyTuple, PyTupleMethods};
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use super::consumer::Consumer;
use super::message::Message;
use crate::client::{self, ClientError};
use crate::python::errors::raised;
use crate::python::owned::Owned;

/// Iterates over batches of a consumer's messages.
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Batches {
    consumer: Py<Consumer>,
    max_messages: usize,
    max_wait: Duration,
}

/// Messages that came together, in the order of each partition.
#[pyclass(frozen, sequence, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Batch {
    consumer: Owned<Arc<client::Consumer>>,
    messages: Py<PyTuple>,
}

impl Batches {
    /// Batches of at most so many messages, filled for at most so long.
    pub(crate) fn of(consumer: Py<Consumer>, max_messages: usize, max_wait: Duration) -> Self {
        Self { consumer, max_messages, max_wait }
    }
}

#[pymethods]
impl Batches {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let consumer = self.consumer.get();
        let reader = consumer.reader().get()?;
        loop {
            consumer.hooks().attend(py, reader)?;
            let found = py.detach(|| reader.gather(self.max_messages, None, self.max_wait));
            let messages = match found {
                Ok(messages) => consumer.hooks().made(py, messages)?,
                Err(ClientError::Closed) => return Ok(None),
                Err(error) => return Err(raised(py, error)),
            };
            if !messages.is_empty() {
                let consumer = Owned::new(Arc::clone(reader), consumer.reader().birth());
                let messages = PyTuple::new(py, messages)?.unbind();
                return Ok(Some(Batch { consumer, messages }));
            }
        }
    }
}

#[pymethods]
impl Batch {
    /// The messages.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.messages.bind(py).to_list()
    }

    /// Stores for the group that this batch, and all before it, is done.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let consumer = self.consumer.get()?;
        let mut offsets = BTreeMap::new();
        for message in self.messages.bind(py).iter() {
            let (partition, after) = message.cast::<Message>()?.get().after()?;
            offsets.insert(partition, after);
        }
        let committed = py.detach(|| consumer.commit_offsets(offsets.into_iter().collect()));
        committed.map_err(|error| raised(py, error))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.messages.bind(py).len()
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.messages.bind(index.py()).as_any().get_item(index)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.messages.bind(py).as_any().try_iter().map(Bound::into_any)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Batch of {} messages>", self.messages.bind(py).len())
    }
}
