//! A record converted from Python arguments.

use std::borrow::Cow;

use pyo3::exceptions::PyTypeError;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyAnyMethods, PyMapping, PyMappingMethods, PyString, PyStringMethods};
use pyo3::{Bound, Py, PyAny, PyErr, PyResult, Python};

use super::making::{Making, Texts};
use crate::client::{Header, ProducerRecord};
use crate::python::arguments;
use crate::types::{PartitionIndex, Timestamp};

/// The keyword arguments of a call that sends a record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Keywords<'a, 'py> {
    pub(crate) key: Option<&'a Bound<'py, PyAny>>,
    pub(crate) headers: Option<&'a Bound<'py, PyAny>>,
    pub(crate) partition: Option<&'a Bound<'py, PyAny>>,
    pub(crate) timestamp: Option<&'a Bound<'py, PyAny>>,
}

/// A record that owns its data.
#[derive(Debug)]
pub(crate) struct Given {
    topic: Py<PyString>,
    pub(super) partition: Option<i32>,
    pub(super) key: Option<PyBackedBytes>,
    pub(super) value: Option<PyBackedBytes>,
    headers: Vec<(String, Option<PyBackedBytes>)>,
    timestamp: Option<Timestamp>,
}

impl Given {
    /// An empty record for `topic`.
    pub(super) fn to(topic: Bound<'_, PyString>) -> Self {
        Self {
            topic: topic.unbind(),
            partition: None,
            key: None,
            value: None,
            headers: Vec::new(),
            timestamp: None,
        }
    }

    /// Its topic.
    pub(crate) fn topic<'a>(&'a self, py: Python<'a>) -> PyResult<Cow<'a, str>> {
        self.topic.bind(py).to_cow()
    }

    /// Its headers in the client's form.
    pub(crate) fn headers(&self) -> Vec<Header<'_>> {
        self.headers.iter().map(header).collect()
    }

    /// Borrows it as a record of `topic`.
    pub(crate) fn record<'a>(
        &'a self,
        topic: &'a str,
        partition: Option<PartitionIndex>,
        headers: &'a [Header<'a>],
    ) -> ProducerRecord<'a> {
        ProducerRecord {
            topic,
            partition,
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            headers,
            timestamp: self.timestamp,
        }
    }

    /// Its approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        let length = |bytes: &Option<PyBackedBytes>| bytes.as_ref().map_or(0, |bytes| bytes.len());
        let headers = self.headers.iter().map(|(name, value)| name.len() + length(value));
        size_of::<Self>() + length(&self.key) + length(&self.value) + headers.sum::<usize>()
    }

    /// Takes over the keyword arguments.
    pub(super) fn take(&mut self, making: &Making, said: Keywords<'_, '_>) -> PyResult<()> {
        let Keywords { key, headers, partition, timestamp } = said;
        if let Some(key) = key {
            self.key = bytes_of("key", making.key.as_ref(), key, making.texts)?;
        }
        if let Some(headers) = headers {
            self.headers = read_headers(headers, making.texts)?;
        }
        if let Some(timestamp) = timestamp {
            self.timestamp = Some(match arguments::timestamp("timestamp", timestamp)? {
                Some(timestamp) => timestamp,
                None => Timestamp::from_millis(arguments::value("timestamp", timestamp)?),
            });
        }
        self.partition = partition.map(|own| arguments::value("partition", own)).transpose()?;
        Ok(())
    }
}

/// Converts bytes or `None`; a string only if the producer has an encoding.
fn bytes(name: &str, value: &Bound<'_, PyAny>, texts: Texts) -> PyResult<Option<PyBackedBytes>> {
    if value.is_none() {
        return Ok(None);
    }
    if let (Texts::Utf8, Ok(text)) = (texts, value.cast::<PyString>()) {
        return Ok(Some(PyBackedBytes::from(text.encode_utf8()?)));
    }
    value.extract().map(Some).map_err(|_| {
        let kind = value.get_type();
        let remedy = if value.is_instance_of::<PyString>() {
            "encode it first, or create the producer with encoding=\"utf-8\""
        } else {
            "encode it first, or create the producer with key= and value="
        };
        PyTypeError::new_err(format!("{name} must be bytes or None, not {kind}: {remedy}"))
    })
}

/// Calls a function on an item and converts the result; a string is encoded as UTF-8.
pub(super) fn made(
    name: &str,
    make: &Bound<'_, PyAny>,
    item: &Bound<'_, PyAny>,
) -> PyResult<Option<PyBackedBytes>> {
    bytes(name, &make.call1((item,))?, Texts::Utf8)
}

/// Calls the serializer on a value if there is one; otherwise the value must be bytes.
pub(super) fn bytes_of(
    name: &str,
    serializer: Option<&Py<PyAny>>,
    value: &Bound<'_, PyAny>,
    texts: Texts,
) -> PyResult<Option<PyBackedBytes>> {
    match serializer {
        Some(make) if !value.is_none() => made(name, make.bind(value.py()), value),
        _ => bytes(name, value, texts),
    }
}

fn read_headers(
    given: &Bound<'_, PyAny>,
    texts: Texts,
) -> PyResult<Vec<(String, Option<PyBackedBytes>)>> {
    let rows = match given.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.into_any(),
        Err(_) => given.clone(),
    };
    let mut headers = Vec::new();
    for row in rows.try_iter()? {
        let (name, value): (String, Bound<'_, PyAny>) =
            row?.extract().map_err(|error| not_headers(&error))?;
        headers.push((name, bytes("a header", &value, texts)?));
    }
    Ok(headers)
}

fn not_headers(error: &PyErr) -> PyErr {
    PyTypeError::new_err(format!("headers are a dict, or pairs, of str and bytes ({error})"))
}

fn header((name, value): &(String, Option<PyBackedBytes>)) -> Header<'_> {
    Header { key: name.as_bytes(), value: value.as_deref() }
}
