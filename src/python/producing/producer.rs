//! The native class `Producer`.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::Guard;
use pyo3::types::{PyAnyMethods, PyDict, PyString, PyType};
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use super::columns::columns;
use super::partitioner::Partitioner;
use super::record::OwnedRecord;
use super::serializers::{Keywords, Serializers};
use super::ticket::Ticket;
use crate::client::{self, ProducerConfig, Scope};
use crate::python::arguments;
use crate::python::arguments::{Options, Word};
use crate::python::connection::Connection;
use crate::python::docstrings::stub;
use crate::python::dropping::{close_at_exit, while_dropped};
use crate::python::errors::{block_limit, left_block, raised};
use crate::python::owned::{Owned, Renewed};
use crate::python::reading::generic;
use crate::types::PartitionIndex;

/// Keywords of `Client.producer`.
pub(crate) const WORDS: &[Word] = &[
    Word::plain("acks", "acks"),
    Word::plain("compression", "compression.type"),
    Word::plain("compression_level", "compression.level"),
    Word::seconds("linger", "linger.ms"),
    Word::plain("batch_size", "batch.size"),
    Word::plain("buffer", "buffer.memory"),
    Word::plain("max_request_size", "max.request.size"),
    Word::seconds("send_timeout", "max.block.ms"),
    Word::seconds("delivery_timeout", "delivery.timeout.ms"),
    Word::plain("idempotence", "enable.idempotence"),
    Word::plain("partitioner", "partitioner"),
    Word::plain("audit", "audit.tier"),
    Word::seconds("audit_window", "audit.window.ms"),
];

/// The number of records between two checks for signals, for sends that do not wait.
const SIGNALS_EVERY: u64 = 1024;

#[doc = stub!("Producer")]
// As with Python's files, dropping the last reference to a producer flushes it: a program that
// forgets to close it blocks at that point until every record is delivered or has failed.
#[pyclass(frozen, weakref, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Producer {
    inner: Renewed<client::Producer>,
    connection: Arc<Connection>,
    config: ProducerConfig,
    serializers: Serializers,
    partitioner: Option<Partitioner>,
}

impl Producer {
    /// Creates a producer with the given options over the client's settings.
    pub(crate) fn start(
        py: Python<'_>,
        connection: &Arc<Connection>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let mut options = Options::of(given)?;
        let partitioner = Partitioner::of(&mut options)?;
        let serializers = Serializers::of(&mut options)?;
        let mut settings = connection.settings().clone();
        options.apply(WORDS, &mut |values| {
            settings.set_in(Scope::Producer, values.iter().copied())?;
            settings.producer.validate()
        })?;
        let config = settings.producer;
        let producer = make(py, connection, &config)?;
        let inner = Renewed::new(producer, connection.client(py)?.birth());
        let connection = Arc::clone(connection);
        let producer = Py::new(py, Self { inner, connection, config, serializers, partitioner })?;
        close_at_exit(producer.bind(py))?;
        Ok(producer)
    }

    /// The producer; a forked child creates its own, and the parent keeps its unsent records.
    pub(crate) fn sender(&self, py: Python<'_>) -> PyResult<Guard<Arc<Owned<client::Producer>>>> {
        self.inner.get(py, || make(py, &self.connection, &self.config))
    }

    /// The buffer size in bytes.
    pub(crate) fn buffer(&self) -> u64 {
        self.config.buffer.0
    }

    /// Creates a record from the arguments of a call.
    pub(crate) fn record(
        &self,
        topic: Bound<'_, PyString>,
        value: &Bound<'_, PyAny>,
        keywords: Keywords<'_, '_>,
    ) -> PyResult<OwnedRecord> {
        self.serializers.record(topic, value, keywords)
    }

    /// Creates a record from an item: `key` and `value` are functions that return the record's key
    /// and value, given the item.
    pub(crate) fn record_of_item(
        &self,
        topic: Bound<'_, PyString>,
        item: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<OwnedRecord> {
        self.serializers.record_of_item(topic, item, key, value)
    }

    /// The partition given with the record, or chosen by the application's partitioner.
    pub(crate) fn partition(
        &self,
        py: Python<'_>,
        producer: &client::Producer,
        record: &OwnedRecord,
    ) -> PyResult<Option<PartitionIndex>> {
        let partition = match (record.partition, &self.partitioner) {
            (None, Some(partitioner)) => {
                let topic = record.topic(py)?;
                // A partition can be chosen only when the topic is known.
                producer
                    .knows(&topic)
                    .then(|| partitioner.choose(py, producer, &topic, record))
                    .transpose()?
            }
            (partition, _) => partition,
        };
        Ok(partition.map(PartitionIndex))
    }

    /// Sends a record if this needs no waiting.
    pub(crate) fn try_send(
        &self,
        py: Python<'_>,
        record: &OwnedRecord,
    ) -> PyResult<Option<Ticket>> {
        let sender = self.sender(py)?;
        let producer = sender.get()?;
        let topic = record.topic(py)?;
        if self.partitioner.is_some() && !producer.knows(&topic) {
            return Ok(None);
        }
        let headers = record.headers();
        let partition = self.partition(py, producer, record)?;
        let sent = producer.try_send(&record.borrow(&topic, partition, &headers));
        let ticket = sent.map_err(|error| raised(py, error))?;
        Ok(ticket.map(|ticket| Ticket::new(ticket, sender.birth())))
    }

    fn close_within(&self, py: Python<'_>, timeout: Option<Duration>) -> PyResult<()> {
        let Some(sender) = self.inner.if_here() else { return Ok(()) };
        let producer = sender.get()?;
        py.detach(|| producer.close(timeout)).map_err(|error| raised(py, error))
    }

    fn send_record(
        &self,
        py: Python<'_>,
        producer: &client::Producer,
        record: &OwnedRecord,
    ) -> PyResult<client::Ticket> {
        let topic = record.topic(py)?;
        if self.partitioner.is_some() && !producer.knows(&topic) {
            let found = py.detach(|| producer.partition_count(&topic));
            found.map_err(|error| raised(py, error))?;
        }
        let headers = record.headers();
        let partition = self.partition(py, producer, record)?;
        let record = record.borrow(&topic, partition, &headers);
        let sent = match producer.try_send(&record) {
            Ok(None) => py.detach(|| producer.send(&record)),
            Ok(Some(ticket)) => Ok(ticket),
            Err(error) => Err(error),
        };
        sent.map_err(|error| raised(py, error))
    }
}

#[pymethods]
impl Producer {
    #[doc = stub!("Producer.send")]
    #[pyo3(signature = (
        topic, value, *, key=None, headers=None, partition=None, timestamp=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "those behind the value are Python's keywords")]
    fn send(
        &self,
        topic: Bound<'_, PyString>,
        value: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        headers: Option<&Bound<'_, PyAny>>,
        partition: Option<&Bound<'_, PyAny>>,
        timestamp: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Ticket> {
        let py = value.py();
        let keywords = Keywords { key, headers, partition, timestamp };
        let record = self.record(topic, value, keywords)?;
        let sender = self.sender(py)?;
        let ticket = self.send_record(py, sender.get()?, &record)?;
        Ok(Ticket::new(ticket, sender.birth()))
    }

    #[doc = stub!("Producer.send_all")]
    #[pyo3(signature = (topic, items, *, key=None, value=None))]
    fn send_all(
        &self,
        topic: &Bound<'_, PyString>,
        items: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let py = items.py();
        let sender = self.sender(py)?;
        let mut count = 0;
        for item in items.try_iter()? {
            let record = self.record_of_item(topic.clone(), &item?, key, value)?;
            self.send_record(py, sender.get()?, &record)?;
            count += 1;
            if count % SIGNALS_EVERY == 0 {
                py.check_signals()?;
            }
        }
        Ok(count)
    }

    #[doc = stub!("Producer._send_columns")]
    fn _send_columns(
        &self,
        topic: Option<&str>,
        rows: usize,
        parts: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let py = parts.py();
        let columns = columns(rows, parts)?;
        let sender = self.sender(py)?;
        let producer = sender.get()?;
        py.detach(|| producer.send_columns(topic, &columns)).map_err(|error| raised(py, error))
    }

    #[doc = stub!("Producer.flush")]
    #[pyo3(signature = (timeout=None))]
    fn flush(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let timeout = arguments::timeout("timeout", timeout)?;
        let Some(sender) = self.inner.if_here() else { return Ok(()) };
        let producer = sender.get()?;
        py.detach(|| producer.flush(timeout)).map_err(|error| raised(py, error))
    }

    #[doc = stub!("Producer.close")]
    #[pyo3(signature = (timeout=None))]
    fn close(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.close_within(py, arguments::timeout("timeout", timeout)?)
    }

    /// Supports `Producer[int]` in type annotations.
    #[classmethod]
    fn __class_getitem__<'py>(
        cls: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        generic(cls, item)
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __repr__(&self) -> String {
        format!("<Producer at {}>", self.connection.address())
    }

    /// Lets the block's own exception propagate, with a note about undelivered records. After
    /// Ctrl-C it does not wait for them for long.
    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        left_block("producer", error, self.close_within(py, block_limit(error)))
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // A forked child that has not used the producer has nothing to flush.
        let Some(sender) = self.inner.if_here() else { return };
        let Ok(producer) = sender.get() else { return };
        while_dropped(|py| {
            if let Err(error) = py.detach(|| producer.close(None)) {
                raised(py, error).write_unraisable(py, None);
            }
        });
    }
}

fn make(
    py: Python<'_>,
    connection: &Connection,
    config: &ProducerConfig,
) -> PyResult<client::Producer> {
    let made = connection.client(py)?.get()?.producer(config.clone());
    made.map_err(|error| raised(py, error))
}
