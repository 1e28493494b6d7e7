//! Sending on an event loop's thread: a record without buffer space is kept and sent later.

use std::borrow::Cow;
use std::sync::Arc;

use arc_swap::Guard;
use pyo3::types::{PyIterator, PyString};
use pyo3::{Bound, IntoPyObjectExt, Py, PyAny, PyResult, Python, pyclass, pymethods};

use crate::client;
use crate::python::errors::raised;
use crate::python::futures::EventLoop;
use crate::python::owned::Owned;
use crate::python::producing::{Keywords, OwnedRecord, Producer, Ticket};

/// The number of records that a call takes from an iterator before it yields to other tasks.
const SOME: u64 = 500;

/// The producer of one event loop.
#[pyclass(frozen, module = "streamlog._core.aio")]
#[derive(Debug)]
pub(crate) struct Outbox {
    event_loop: Py<EventLoop>,
    producer: Py<Producer>,
}

/// A record that is not sent yet.
#[pyclass(frozen, module = "streamlog._core.aio")]
#[derive(Debug)]
pub(crate) struct Prepared {
    record: Arc<OwnedRecord>,
    /// Its approximate size in bytes.
    #[pyo3(get)]
    size: usize,
}

impl Prepared {
    fn new(record: OwnedRecord) -> Self {
        let size = record.size();
        Self { record: Arc::new(record), size }
    }
}

#[pymethods]
impl Prepared {
    /// Its topic.
    #[getter]
    fn topic(&self, py: Python<'_>) -> PyResult<String> {
        self.record.topic(py).map(Cow::into_owned)
    }
}

impl Outbox {
    fn sender(&self, py: Python<'_>) -> PyResult<Arc<Owned<client::Producer>>> {
        let sender = Guard::into_inner(self.producer.get().sender(py)?);
        sender.get()?;
        Ok(sender)
    }

    fn run<'py, T, F>(&self, py: Python<'py>, work: F) -> PyResult<Bound<'py, PyAny>>
    where
        F: Future<Output = Result<T, client::ClientError>> + Send + 'static,
        T: 'static,
    {
        EventLoop::ask(self.event_loop.bind(py), work, |py, _| Ok(py.None()))
    }
}

#[pymethods]
impl Outbox {
    #[new]
    fn new(event_loop: Py<EventLoop>, producer: Py<Producer>) -> Self {
        Self { event_loop, producer }
    }

    /// The producer's buffer size in bytes.
    #[getter]
    fn buffer(&self) -> u64 {
        self.producer.get().buffer()
    }

    /// The number of queued records without an outcome, or given up.
    #[getter]
    fn undelivered(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.sender(py)?.get()?.undelivered_records())
    }

    /// Returns true if the topic's metadata is known.
    fn knows(&self, py: Python<'_>, topic: &str) -> PyResult<bool> {
        Ok(self.sender(py)?.get()?.knows(topic))
    }

    /// Creates a record from the arguments.
    #[pyo3(signature = (
        topic, value, *, key=None, headers=None, partition=None, timestamp=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "those behind the value are Python's keywords")]
    fn prepare(
        &self,
        topic: Bound<'_, PyString>,
        value: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        headers: Option<&Bound<'_, PyAny>>,
        partition: Option<&Bound<'_, PyAny>>,
        timestamp: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Prepared> {
        let keywords = Keywords { key, headers, partition, timestamp };
        self.producer.get().record(topic, value, keywords).map(Prepared::new)
    }

    /// Sends a record and returns its ticket, or returns the record if it has to wait.
    #[pyo3(signature = (
        topic, value, *, key=None, headers=None, partition=None, timestamp=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "those behind the value are Python's keywords")]
    fn send<'py>(
        &self,
        topic: Bound<'py, PyString>,
        value: &Bound<'py, PyAny>,
        key: Option<&Bound<'py, PyAny>>,
        headers: Option<&Bound<'py, PyAny>>,
        partition: Option<&Bound<'py, PyAny>>,
        timestamp: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        let producer = self.producer.get();
        let keywords = Keywords { key, headers, partition, timestamp };
        let record = producer.record(topic, value, keywords)?;
        match producer.try_send(py, &record)? {
            Some(ticket) => ticket.into_bound_py_any(py),
            None => Prepared::new(record).into_bound_py_any(py),
        }
    }

    /// Sends a waiting record if this needs no further waiting.
    fn hand_over(&self, py: Python<'_>, record: &Prepared) -> PyResult<Option<Ticket>> {
        self.producer.get().try_send(py, &record.record)
    }

    /// Waits for the topic's metadata, or for buffer space. The result is the record's ticket once
    /// it is sent, or `None` if the caller must try again.
    fn making_way<'py>(&self, py: Python<'py>, record: &Prepared) -> PyResult<Bound<'py, PyAny>> {
        let (sender, record) = (self.sender(py)?, Arc::clone(&record.record));
        let partition = self.producer.get().partition(py, sender.get()?, &record)?;
        let birth = *sender.birth();
        let topic = record.topic(py)?.into_owned();
        let sending = async move {
            let Ok(producer) = sender.get() else { return Err(client::ClientError::Closed) };
            // A partition can be chosen only when the topic is known.
            if !producer.knows(&topic) {
                return producer.finding(&topic).await.map(|()| None);
            }
            let headers = record.headers();
            let record = record.borrow(&topic, partition, &headers);
            producer.sending(&record).await.map(Some)
        };
        EventLoop::ask(self.event_loop.bind(py), sending, move |py, ticket| match ticket {
            Some(ticket) => Ticket::new(ticket, &birth).into_py_any(py),
            None => Ok(py.None()),
        })
    }

    /// Sends records made of an iterator's items. Returns the number of records sent, the record
    /// that has to wait, if there is one, and true if the iterator is exhausted.
    #[pyo3(signature = (topic, items, key=None, value=None))]
    fn send_some(
        &self,
        topic: &Bound<'_, PyString>,
        items: &Bound<'_, PyIterator>,
        key: Option<&Bound<'_, PyAny>>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(u64, Option<Prepared>, bool)> {
        let (py, producer) = (topic.py(), self.producer.get());
        let mut items = items.clone();
        for count in 0..SOME {
            let Some(item) = items.next().transpose()? else { return Ok((count, None, true)) };
            let record = producer.record_of_item(topic.clone(), &item, key, value)?;
            if producer.try_send(py, &record)?.is_none() {
                return Ok((count, Some(Prepared::new(record)), false));
            }
        }
        Ok((SOME, None, false))
    }

    /// Returns a future that is ready once the ticket has its outcome.
    fn settled<'py>(&self, py: Python<'py>, ticket: &Ticket) -> PyResult<Bound<'py, PyAny>> {
        let settling = ticket.settling()?;
        EventLoop::start(self.event_loop.bind(py), settling, |py, ()| Ok(py.None()))
    }

    /// Waits until every record sent has its outcome; `report` raises failures.
    fn flush<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let sender = self.sender(py)?;
        self.run(py, async move {
            match sender.get() {
                Ok(producer) => producer.settling().await,
                Err(_) => Ok(()),
            }
        })
    }

    /// Raises, once, the failures that no caller has received.
    fn report(&self, py: Python<'_>) -> PyResult<()> {
        let sender = self.sender(py)?;
        sender.get()?.report().map_err(|error| raised(py, error))
    }

    /// Accepts no more records, and waits as `flush` does.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let sender = self.sender(py)?;
        self.run(py, async move {
            match sender.get() {
                Ok(producer) => producer.closing().await,
                Err(_) => Ok(()),
            }
        })
    }

    /// Accepts no more records, and drops those that are not delivered yet.
    fn give_up(&self, py: Python<'_>) -> PyResult<()> {
        self.sender(py)?.get()?.give_up();
        Ok(())
    }
}
