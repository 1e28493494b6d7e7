//! The native classes `Batches` and `Batch`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pyo3::types::{PyAnyMethods, PyList, PyTuple, PyTupleMethods};
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use super::decoding::Decoding;
use super::message::Message;
use super::session::SessionRef;
use super::source::Source;
use crate::client::{self, ClientError};
use crate::python::arguments::monotonic;
use crate::python::docstrings::stub;
use crate::python::errors::raised;
use crate::python::owned::Owned;

#[doc = stub!("Batches")]
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Batches {
    session: SessionRef,
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
    pub(super) fn of(session: SessionRef, max_messages: usize, max_wait: Duration) -> Self {
        Self { session, max_messages, max_wait }
    }

    /// Gathers the messages of the next batch without decoding; none at the end of reading.
    fn gathered(&self, py: Python<'_>) -> PyResult<Vec<Message>> {
        let consumer = self.session.consumer().get()?;
        loop {
            self.session.hooks().attend(py, consumer)?;
            match py.detach(|| consumer.gather(self.max_messages, None, self.max_wait)) {
                Ok(messages) if messages.is_empty() => {}
                Ok(messages) => return Ok(messages.into_iter().map(Into::into).collect()),
                Err(ClientError::Closed) => return Ok(Vec::new()),
                Err(error) => return Err(raised(py, error)),
            }
        }
    }

    /// Gathers and decodes the messages of the next batch, up to the first that fails. Messages are
    /// taken one by one, so that none beyond the failing one has been taken.
    fn decoded(&self, py: Python<'_>, decoding: &Decoding) -> PyResult<Vec<Message>> {
        let consumer = self.session.consumer().get()?;
        let mut messages: Vec<Message> = self.session.next(py, None)?.into_iter().collect();
        let deadline = monotonic(py)? + self.max_wait.as_secs_f64();
        while !messages.is_empty() && messages.len() < self.max_messages {
            match decoding.more(py, consumer, deadline) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => {
                    let read = messages.into_iter().filter_map(Message::into_read);
                    decoding.held().put_back(consumer.stream(), read);
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
        let messages = match &self.session.hooks().decoding {
            None => self.gathered(py)?,
            Some(decoding) => self.decoded(py, decoding)?,
        };
        if messages.is_empty() {
            return Ok(None);
        }
        let consumer = self.session.consumer();
        let consumer = Owned::new(Arc::clone(consumer.get()?), consumer.birth());
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
