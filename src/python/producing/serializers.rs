//! The conversion of Python objects to records, by the producer's serializers.

use pyo3::exceptions::PyTypeError;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyAnyMethods, PyMapping, PyMappingMethods, PyString, PyStringMethods};
use pyo3::{Bound, Py, PyAny, PyErr, PyResult};

use super::record::{Headers, OwnedRecord};
use crate::config::{ConfigError, Fault};
use crate::python::arguments::{self, Options};
use crate::python::errors::refused;
use crate::types::Timestamp;

/// The serializers of a producer.
#[derive(Debug)]
pub(super) struct Serializers {
    key: Option<Py<PyAny>>,
    value: Option<Py<PyAny>>,
    strings: Strings,
}

/// The treatment of a `str` where bytes are expected.
#[derive(Clone, Copy, Debug)]
enum Strings {
    /// Refused, since it can be encoded in several ways.
    Refused,
    /// Encoded as UTF-8.
    Utf8,
}

/// The keyword arguments of a call that sends a record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Keywords<'a, 'py> {
    pub(crate) key: Option<&'a Bound<'py, PyAny>>,
    pub(crate) headers: Option<&'a Bound<'py, PyAny>>,
    pub(crate) partition: Option<&'a Bound<'py, PyAny>>,
    pub(crate) timestamp: Option<&'a Bound<'py, PyAny>>,
}

impl Serializers {
    /// Takes the options `key`, `value` and `encoding`.
    pub(super) fn of(options: &mut Options<'_>) -> PyResult<Self> {
        Ok(Self {
            key: options.take_callable("key")?,
            value: options.take_callable("value")?,
            strings: read_encoding(options.take_as("encoding")?)?,
        })
    }

    /// Creates a record from the arguments of a call.
    pub(super) fn record(
        &self,
        topic: Bound<'_, PyString>,
        value: &Bound<'_, PyAny>,
        keywords: Keywords<'_, '_>,
    ) -> PyResult<OwnedRecord> {
        let Keywords { key, headers, partition, timestamp } = keywords;
        let mut record = OwnedRecord::to(topic);
        record.value = self.serialize("value", self.value.as_ref(), value)?;
        if let Some(key) = key {
            record.key = self.serialize("key", self.key.as_ref(), key)?;
        }
        if let Some(headers) = headers {
            record.headers = read_headers(headers, self.strings)?;
        }
        if let Some(timestamp) = timestamp {
            record.timestamp = Some(match arguments::timestamp("timestamp", timestamp)? {
                Some(timestamp) => timestamp,
                None => Timestamp::from_millis(arguments::value("timestamp", timestamp)?),
            });
        }
        record.partition = partition.map(|own| arguments::value("partition", own)).transpose()?;
        Ok(record)
    }

    /// Creates a record from an item: `key` and `value` are functions that return the record's key
    /// and value, given the item.
    pub(super) fn record_of_item(
        &self,
        topic: Bound<'_, PyString>,
        item: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<OwnedRecord> {
        let mut record = OwnedRecord::to(topic);
        record.key = key.map(|make| call("key", make, item)).transpose()?.flatten();
        record.value = match value {
            Some(make) => call("value", make, item)?,
            None => self.serialize("value", self.value.as_ref(), item)?,
        };
        Ok(record)
    }

    /// Converts a value by the serializer, or as `bytes` does if there is none. `None` stays
    /// `None`.
    fn serialize(
        &self,
        name: &str,
        serializer: Option<&Py<PyAny>>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Option<PyBackedBytes>> {
        match serializer {
            Some(make) if !value.is_none() => call(name, make.bind(value.py()), value),
            _ => bytes(name, value, self.strings),
        }
    }
}

fn read_encoding(encoding: Option<String>) -> PyResult<Strings> {
    match encoding.map(|name| name.to_ascii_lowercase()).as_deref() {
        None => Ok(Strings::Refused),
        Some("utf-8" | "utf8") => Ok(Strings::Utf8),
        Some(other) => {
            let fault = Fault::invalid("encoding", other, "\"utf-8\"");
            Err(refused(&ConfigError { faults: vec![fault] }))
        }
    }
}

/// Calls a function on an item and converts the result; a string is encoded as UTF-8.
fn call(
    name: &str,
    function: &Bound<'_, PyAny>,
    item: &Bound<'_, PyAny>,
) -> PyResult<Option<PyBackedBytes>> {
    bytes(name, &function.call1((item,))?, Strings::Utf8)
}

/// Converts bytes or `None`; a string only with `Strings::Utf8`.
fn bytes(
    name: &str,
    value: &Bound<'_, PyAny>,
    strings: Strings,
) -> PyResult<Option<PyBackedBytes>> {
    if value.is_none() {
        return Ok(None);
    }
    if let (Strings::Utf8, Ok(text)) = (strings, value.cast::<PyString>()) {
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

fn read_headers(given: &Bound<'_, PyAny>, strings: Strings) -> PyResult<Headers> {
    let rows = match given.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.into_any(),
        Err(_) => given.clone(),
    };
    let mut headers = Vec::new();
    for row in rows.try_iter()? {
        let (name, value): (String, Bound<'_, PyAny>) =
            row?.extract().map_err(|error| not_headers(&error))?;
        headers.push((name, bytes("a header", &value, strings)?));
    }
    Ok(headers)
}

fn not_headers(error: &PyErr) -> PyErr {
    PyTypeError::new_err(format!("headers are a dict, or pairs, of str and bytes ({error})"))
}
