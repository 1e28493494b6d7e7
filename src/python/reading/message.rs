//! The native class `Message`.
//!
//! A message from a consumer shares the bytes of its batch and creates Python `bytes` on access; an
//! unpickled message owns its bytes.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::types::{PyAnyMethods, PyBytes, PyString, PyTuple, PyType};
use pyo3::{Bound, IntoPyObject, Py, PyAny, PyResult, Python, pyclass, pymethods};

use crate::client;
use crate::config::ConfigError;
use crate::python::arguments::datetime;
use crate::python::docstrings::stub;
use crate::python::errors::refused;
use crate::types::{InvalidTopicName, Offset, PartitionIndex, Timestamp, TopicPartition};

/// The number of bytes of a key or value that `repr` shows.
const SHOWN_MAX: usize = 32;

type OwnBytes = Option<Vec<u8>>;
type OwnHeaders = Vec<(String, OwnBytes)>;
/// A message as plain data for pickling, its fields in the order of [`Own`].
type State = (String, i32, i64, i64, OwnBytes, OwnBytes, OwnHeaders);
type PyBytesOrNone<'py> = Option<Bound<'py, PyBytes>>;

#[doc = stub!("Message")]
#[pyclass(frozen, eq, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Message {
    record: Record,
    decoded: Option<Box<Decoded>>,
}

/// The results of the user's decoders.
#[derive(Debug)]
struct Decoded {
    key: Option<Py<PyAny>>,
    value: Option<Py<PyAny>>,
}

#[derive(Debug)]
enum Record {
    Read(client::Message),
    Own(Box<Own>),
}

#[derive(Debug)]
struct Own {
    topic: String,
    partition: i32,
    offset: i64,
    timestamp_ms: i64,
    key: OwnBytes,
    value: OwnBytes,
    headers: OwnHeaders,
}

impl From<client::Message> for Message {
    fn from(message: client::Message) -> Self {
        Self { record: Record::Read(message), decoded: None }
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
            && self.timestamp_ms() == other.timestamp_ms()
            && self.key_bytes() == other.key_bytes()
            && self.value_bytes() == other.value_bytes()
            && self.own_headers() == other.own_headers()
    }
}

impl Message {
    /// A message with its decoded key and value.
    pub(crate) fn decoded(
        message: client::Message,
        key: Option<Py<PyAny>>,
        value: Option<Py<PyAny>>,
    ) -> Self {
        let decoded = Some(Box::new(Decoded { key, value }));
        Self { record: Record::Read(message), decoded }
    }

    /// The client's message, unless this one was unpickled.
    pub(super) fn into_read(self) -> Option<client::Message> {
        match self.record {
            Record::Read(message) => Some(message),
            Record::Own(_) => None,
        }
    }

    fn place(&self) -> (&str, i32, i64) {
        match &self.record {
            Record::Read(m) => (m.topic().as_str(), m.partition().0, m.offset().get()),
            Record::Own(own) => (&own.topic, own.partition, own.offset),
        }
    }

    /// The partition with the offset after the message, which is committed once it is processed.
    pub(crate) fn after(&self) -> PyResult<(TopicPartition, Offset)> {
        let (topic, partition, offset) = self.place();
        let topic = topic.parse().map_err(|error: InvalidTopicName| {
            refused(&ConfigError::single("message", error.to_string()))
        })?;
        let next = offset.checked_add(1).and_then(Offset::checked).ok_or_else(|| {
            refused(&ConfigError::single("message", format!("no offset follows {offset}")))
        })?;
        Ok((TopicPartition { topic, partition: PartitionIndex(partition) }, next))
    }

    fn key_bytes(&self) -> Option<&[u8]> {
        match &self.record {
            Record::Read(message) => message.key(),
            Record::Own(own) => own.key.as_deref(),
        }
    }

    fn value_bytes(&self) -> Option<&[u8]> {
        match &self.record {
            Record::Read(message) => message.value(),
            Record::Own(own) => own.value.as_deref(),
        }
    }

    fn own_headers(&self) -> Cow<'_, OwnHeaders> {
        match &self.record {
            Record::Read(message) => {
                let name = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
                let rows = message.headers().map(|h| (name(h.key), h.value.map(<[u8]>::to_vec)));
                Cow::Owned(rows.collect())
            }
            Record::Own(own) => Cow::Borrowed(&own.headers),
        }
    }
}

#[pymethods]
impl Message {
    #[classattr]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __match_args__: (&str, &str, &str, &str, &str, &str, &str) =
        ("topic", "partition", "offset", "timestamp", "key", "value", "headers");

    /// Called by unpickling only.
    #[new]
    #[pyo3(signature = (state, key=None, value=None))]
    fn new(state: State, key: Option<Py<PyAny>>, value: Option<Py<PyAny>>) -> Self {
        let decoded = (key.is_some() || value.is_some()).then(|| Box::new(Decoded { key, value }));
        let (topic, partition, offset, timestamp_ms, key, value, headers) = state;
        let own = Own { topic, partition, offset, timestamp_ms, key, value, headers };
        Self { record: Record::Own(Box::new(own)), decoded }
    }

    #[doc = stub!("Message.topic")]
    #[getter]
    fn topic<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::intern(py, self.place().0)
    }

    #[doc = stub!("Message.partition")]
    #[getter]
    fn partition(&self) -> i32 {
        self.place().1
    }

    #[doc = stub!("Message.offset")]
    #[getter]
    fn offset(&self) -> i64 {
        self.place().2
    }

    #[doc = stub!("Message.timestamp")]
    #[getter]
    fn timestamp<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let place = || {
            let (topic, partition, offset) = self.place();
            format!("{topic}-{partition} at offset {offset}")
        };
        datetime(py, Timestamp::from_millis(self.timestamp_ms()), place)
    }

    #[doc = stub!("Message.timestamp_ms")]
    #[getter]
    fn timestamp_ms(&self) -> i64 {
        match &self.record {
            Record::Read(message) => message.timestamp().millis(),
            Record::Own(own) => own.timestamp_ms,
        }
    }

    #[doc = stub!("Message.key")]
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let decoded = self.decoded.as_ref().and_then(|decoded| decoded.key.as_ref());
        match decoded {
            Some(key) => Some(key.bind(py).clone()),
            None => self.raw_key(py).map(Bound::into_any),
        }
    }

    #[doc = stub!("Message.value")]
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let decoded = self.decoded.as_ref().and_then(|decoded| decoded.value.as_ref());
        match decoded {
            Some(value) => Some(value.bind(py).clone()),
            None => self.raw_value(py).map(Bound::into_any),
        }
    }

    #[doc = stub!("Message.raw_key")]
    #[getter]
    fn raw_key<'py>(&self, py: Python<'py>) -> PyBytesOrNone<'py> {
        self.key_bytes().map(|key| PyBytes::new(py, key))
    }

    #[doc = stub!("Message.raw_value")]
    #[getter]
    fn raw_value<'py>(&self, py: Python<'py>) -> PyBytesOrNone<'py> {
        self.value_bytes().map(|value| PyBytes::new(py, value))
    }

    /// Supports `Message[int]` in type annotations.
    #[classmethod]
    fn __class_getitem__<'py>(
        cls: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        generic(cls, item)
    }

    #[doc = stub!("Message.headers")]
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let headers = self.own_headers();
        let value = |value: &OwnBytes| value.as_ref().map(|bytes| PyBytes::new(py, bytes));
        let rows: Vec<_> = headers.iter().map(|(name, bytes)| (name, value(bytes))).collect();
        PyTuple::new(py, rows)
    }

    #[doc = stub!("Message.header")]
    #[pyo3(signature = (name, default=None))]
    fn header<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> Option<Bound<'py, PyAny>> {
        let headers = self.own_headers();
        let last = headers.iter().rev().find(|(key, _)| key == name);
        let value = |bytes: &OwnBytes| bytes.as_ref().map(|bytes| PyBytes::new(py, bytes));
        last.map_or(default, |(_, bytes)| value(bytes).map(Bound::into_any))
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (topic, partition, offset) = self.place();
        let headers = self.headers(py)?.into_any().try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let (key, value) = (self.raw_key(py), self.raw_value(py));
        let state = (topic, partition, offset, self.timestamp_ms(), key, value, headers);
        let state = state.into_pyobject(py)?.into_any();
        let decoded = |part: fn(&Decoded) -> Option<&Py<PyAny>>| {
            let part = self.decoded.as_deref().and_then(part);
            part.map_or_else(|| py.None(), |part| part.clone_ref(py)).into_bound(py)
        };
        let parts = [state, decoded(|d| d.key.as_ref()), decoded(|d| d.value.as_ref())];
        PyTuple::new(py, parts)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.place().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let (topic, partition, offset) = self.place();
        let (key, value) = (shown(self.key_bytes()), shown(self.value_bytes()));
        format!("Message({topic:?}, {partition}, {offset}, key={key}, value={value})")
    }
}

/// The first bytes as a Python literal, followed by the length if there are more.
fn shown(bytes: Option<&[u8]>) -> String {
    let Some(bytes) = bytes else { return "None".to_owned() };
    let text = bytes.get(..SHOWN_MAX).unwrap_or(bytes).escape_ascii();
    match bytes.len() {
        all if all <= SHOWN_MAX => format!("b\"{text}\""),
        all => format!("b\"{text}\"... ({all} bytes)"),
    }
}

/// The class with a type parameter for type checkers.
pub(crate) fn generic<'py>(
    class: &Bound<'py, PyType>,
    item: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    class.py().import("types")?.call_method1("GenericAlias", (class, item))
}
