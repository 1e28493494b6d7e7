//! The native classes `Batches` and `Batch`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pyo3::types::{PyAnyMethods, PyList, PyTuple, PyTupleMethods};
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use super::consumer::Consumer;
use super::decoding::Decoding;
use super::hooks::{Place, monotonic};
use super::message::Message;
use crate::client::{self, ClientError};
use crate::python::docstrings::stub;
use crate::python::errors::raised;
use crate::python::owned::Owned;

#[doc = stub!("Batches")]
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Batches {
    consumer: Py<Consumer>,
    max_messages: usize,
    max_wait: Duration,
}

#[doc = stub!("Batch")]
#[pyclass(frozen, sequence, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Batch {
    consumer: Owned<Arc<client::Consumer>>,
    messages: Py<PyTuple>,
}

impl Batches {
    /// Batches of at most `max_messages`, each filled for at most `max_wait`.
    pub(crate) fn of(consumer: Py<Consumer>, max_messages: usize, max_wait: Duration) -> Self {
        Self { consumer, max_messages, max_wait }
    }

    /// Gathers the messages of the next batch without decoding; none at the end of reading.
    fn gathered(&self, py: Python<'_>) -> PyResult<Vec<Message>> {
        let consumer = self.consumer.get();
        let reader = consumer.reader().get()?;
        loop {
            consumer.hooks().attend(py, reader)?;
            match py.detach(|| reader.gather(self.max_messages, None, self.max_wait)) {
                Ok(messages) if messages.is_empty() => {}
                Ok(messages) => return Ok(messages.into_iter().map(Into::into).collect()),
                Err(ClientError::Closed) => return Ok(Vec::new()),
                Err(error) => return Err(raised(py, error)),
            }
        }
    }

    /// As `gathered`, with decoded messages, up to the first that fails. They are taken one by one,
    /// because only the last message taken may still be unprocessed when decoding fails.
    fn decoded(&self, py: Python<'_>, decoding: &Decoding) -> PyResult<Vec<Message>> {
        let consumer = self.consumer.get();
        let reader = consumer.reader().get()?;
        let mut messages: Vec<Message> = consumer.next(py, None)?.into_iter().collect();
        let deadline = monotonic(py)? + self.max_wait.as_secs_f64();
        while !messages.is_empty() && messages.len() < self.max_messages {
            match decoding.more(py, reader, deadline) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => {
                    let read = messages.into_iter().filter_map(Message::into_read);
                    decoding.held().put_back(reader.stream(), read);
                    return Err(error);
                }
            }
        }
        Ok(messages)
    }
}

#[pymethods]
impl Batches {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let consumer = self.consumer.get();
        let messages = match &consumer.hooks().decoding {
            None => self.gathered(py)?,
            Some(decoding) => self.decoded(py, decoding)?,
        };
        if messages.is_empty() {
            return Ok(None);
        }
        let reader = consumer.reader();
        let consumer = Owned::new(Arc::clone(reader.get()?), reader.birth());
        let messages = PyTuple::new(py, messages)?.unbind();
        Ok(Some(Batch { consumer, messages }))
    }
}

#[pymethods]
impl Batch {
    #[doc = stub!("Batch.messages")]
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.messages.bind(py).to_list()
    }

    #[doc = stub!("Batch.commit")]
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
