//! Publishing records.

use std::sync::Arc;

use arc_swap::Guard;
use pyo3::exceptions::PyTypeError;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyAnyMethods, PyDict, PyMapping, PyMappingMethods, PyString, PyStringMethods};
use pyo3::{Bound, Py, PyAny, PyErr, PyResult, Python, pyclass, pymethods};

use super::making::Making;
use super::ticket::Ticket;
use crate::client::{self, Header, ProducerConfig, ProducerRecord};
use crate::config::{ConfigError, Fault, set_all};
use crate::python::arguments;
use crate::python::arguments::{Options, Word};
use crate::python::client::Client;
use crate::python::errors::{raised, refused};
use crate::python::owned::{Owned, Renewed};
use crate::types::{PartitionIndex, Timestamp};

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
];

/// Keywords of `Producer.send`.
const OF_RECORDS: [&str; 4] = ["key", "headers", "partition", "timestamp"];

/// Records between two looks at signals, when no wait looks at them.
const SIGNALS_EVERY: u64 = 1024;

/// Publishes records. May be used by several threads.
///
/// Python's files are flushed when nobody holds them any more, and so is this: a program that
/// forgets to close it waits at that point, and loses nothing.
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Producer {
    inner: Renewed<client::Producer>,
    client: Py<Client>,
    config: ProducerConfig,
    making: Making,
}

/// A record that owns what it is made of.
#[derive(Debug, Default)]
pub(super) struct Given<'py> {
    topic: Option<Bound<'py, PyString>>,
    partition: Option<i32>,
    pub(super) key: Option<PyBackedBytes>,
    pub(super) value: Option<PyBackedBytes>,
    headers: Vec<(String, Option<PyBackedBytes>)>,
    timestamp: Option<Timestamp>,
}

impl Producer {
    /// A producer with the options that were given, else as `config` says.
    pub(crate) fn start(
        client: &Bound<'_, Client>,
        mut config: ProducerConfig,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut options = Options::of(given)?;
        let making = Making::of(&mut options)?;
        options.apply(WORDS, &mut |values| {
            set_all(&mut config, ProducerConfig::KEYS, values.iter().copied())?;
            config.validate()
        })?;
        let producer = make(client, &config)?;
        let inner = Renewed::new(producer, client.get().connected(client.py())?.birth());
        Ok(Self { inner, client: client.clone().unbind(), config, making })
    }

    /// The producer behind it; a forked child makes one of its own, and the parent keeps what it
    /// has not sent.
    fn sender(&self, py: Python<'_>) -> PyResult<Guard<Arc<Owned<client::Producer>>>> {
        self.inner.get(py, || make(self.client.bind(py), &self.config))
    }

    fn send_given(
        &self,
        py: Python<'_>,
        producer: &client::Producer,
        given: &Given<'_>,
    ) -> PyResult<client::Ticket> {
        let topic = given.topic.as_ref().map(PyStringMethods::to_cow).transpose()?;
        let headers: Vec<Header<'_>> = given.headers.iter().map(header).collect();
        let topic = topic.as_deref().unwrap_or_default();
        let partition = match (given.partition, &self.making.partitioner) {
            (None, Some(choose)) => Some(choose.choose(py, producer, topic, given)?),
            (partition, _) => partition,
        };
        let record = ProducerRecord {
            topic,
            partition: partition.map(PartitionIndex),
            key: given.key.as_deref(),
            value: given.value.as_deref(),
            headers: &headers,
            timestamp: given.timestamp,
        };
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
    #[pyo3(
        signature = (topic, value, **options),
        text_signature = "($self, topic, value, *, key=None, headers=None, partition=None, \
                          timestamp=None)"
    )]
    fn send(
        &self,
        py: Python<'_>,
        topic: Bound<'_, PyString>,
        value: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Ticket> {
        let value = bytes_of("value", self.making.value.as_ref(), value)?;
        let mut given = Given { topic: Some(topic), value, ..Given::default() };
        if let Some(options) = options {
            given.take(&self.making, options)?;
        }
        let sender = self.sender(py)?;
        let ticket = self.send_given(py, sender.get()?, &given)?;
        Ok(Ticket::new(ticket, sender.birth()))
    }

    #[pyo3(signature = (topic, items, *, key=None, value=None))]
    fn send_all(
        &self,
        topic: Bound<'_, PyString>,
        items: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let py = items.py();
        let sender = self.sender(py)?;
        let mut given = Given { topic: Some(topic), ..Given::default() };
        let mut count = 0;
        for item in items.try_iter()? {
            let item = item?;
            given.key = key.map(|make| made("key", make, &item)).transpose()?.flatten();
            given.value = match value {
                Some(make) => made("value", make, &item)?,
                None => bytes_of("value", self.making.value.as_ref(), &item)?,
            };
            self.send_given(py, sender.get()?, &given)?;
            count += 1;
            if count % SIGNALS_EVERY == 0 {
                py.check_signals()?;
            }
        }
        Ok(count)
    }

    #[pyo3(signature = (timeout=None))]
    fn flush(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let timeout = arguments::timeout(timeout)?;
        let Some(sender) = self.inner.if_here() else { return Ok(()) };
        let producer = sender.get()?;
        py.detach(|| producer.flush(timeout)).map_err(|error| raised(py, error))
    }

    #[pyo3(signature = (timeout=None))]
    fn close(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let timeout = arguments::timeout(timeout)?;
        let Some(sender) = self.inner.if_here() else { return Ok(()) };
        let producer = sender.get()?;
        py.detach(|| producer.close(timeout)).map_err(|error| raised(py, error))
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// The error that ends the block goes on, with a note about what was not delivered.
    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        match self.close(py, None) {
            Err(undelivered) if !error.is_none() => {
                let note = format!("and when the producer was closed: {undelivered}");
                error.call_method1("add_note", (note,)).map(drop)
            }
            closed => closed,
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // A forked child has nothing to flush.
        let Some(sender) = self.inner.if_here() else { return };
        let Ok(producer) = sender.get() else { return };
        Python::attach(|py| {
            if let Err(error) = py.detach(|| producer.close(None)) {
                raised(py, error).write_unraisable(py, None);
            }
        });
    }
}

impl Given<'_> {
    /// The keywords of one record, which are looked at for every record: nothing is made of them
    /// that is not kept.
    fn take(&mut self, making: &Making, options: &Bound<'_, PyDict>) -> PyResult<()> {
        for (name, value) in options {
            if value.is_none() {
                continue;
            }
            match &*name.cast::<PyString>()?.to_cow()? {
                "key" => self.key = bytes_of("key", making.key.as_ref(), &value)?,
                "headers" => self.headers = read_headers(&value)?,
                "partition" => self.partition = Some(value.extract()?),
                "timestamp" => {
                    self.timestamp = Some(match arguments::timestamp("timestamp", &value)? {
                        Some(timestamp) => timestamp,
                        None => Timestamp::from_millis(value.extract()?),
                    });
                }
                unknown => {
                    let fault = Fault::unknown(unknown, OF_RECORDS.into_iter());
                    return Err(refused(&ConfigError { faults: vec![fault] }));
                }
            }
        }
        Ok(())
    }
}

fn make(client: &Bound<'_, Client>, config: &ProducerConfig) -> PyResult<client::Producer> {
    let py = client.py();
    let made = client.get().connected(py)?.get()?.producer(config.clone());
    made.map_err(|error| raised(py, error))
}

/// Bytes, or `None`; a text is refused, for it would have to be encoded somehow.
fn bytes(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<PyBackedBytes>> {
    if value.is_none() {
        return Ok(None);
    }
    value.extract().map(Some).map_err(|_| {
        let kind = value.get_type();
        PyTypeError::new_err(format!("{name} is to be bytes or None, not {kind}: encode it first"))
    })
}

/// What a callable makes of an item; a text is encoded as UTF-8.
fn made(
    name: &str,
    make: &Bound<'_, PyAny>,
    item: &Bound<'_, PyAny>,
) -> PyResult<Option<PyBackedBytes>> {
    let value = make.call1((item,))?;
    match value.cast::<PyString>() {
        Ok(text) => Ok(Some(PyBackedBytes::from(text.encode_utf8()?))),
        Err(_) => bytes(name, &value),
    }
}

/// What the serializer makes of it, if there is one; else it is to be bytes.
fn bytes_of(
    name: &str,
    serializer: Option<&Py<PyAny>>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<PyBackedBytes>> {
    match serializer {
        Some(make) if !value.is_none() => made(name, make.bind(value.py()), value),
        _ => bytes(name, value),
    }
}

fn read_headers(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Option<PyBackedBytes>)>> {
    let rows = match given.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.into_any(),
        Err(_) => given.clone(),
    };
    let mut headers = Vec::new();
    for row in rows.try_iter()? {
        let (name, value): (String, Bound<'_, PyAny>) =
            row?.extract().map_err(|error| not_headers(&error))?;
        headers.push((name, bytes("a header", &value)?));
    }
    Ok(headers)
}

fn not_headers(error: &PyErr) -> PyErr {
    PyTypeError::new_err(format!("headers are a dict, or pairs, of str and bytes ({error})"))
}

fn header((name, value): &(String, Option<PyBackedBytes>)) -> Header<'_> {
    Header { key: name.as_bytes(), value: value.as_deref() }
}
