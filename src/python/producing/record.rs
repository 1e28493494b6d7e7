//! A record made of Python objects, which outlives the call that sends it.

use std::borrow::Cow;

use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyString, PyStringMethods};
use pyo3::{Bound, Py, PyResult, Python};

use crate::client::{Header, ProducerRecord};
use crate::types::{PartitionIndex, Timestamp};

/// Headers by name, in order.
pub(super) type Headers = Vec<(String, Option<PyBackedBytes>)>;

/// A record that owns its data.
#[derive(Debug)]
pub(crate) struct OwnedRecord {
    topic: Py<PyString>,
    pub(super) partition: Option<i32>,
    pub(super) key: Option<PyBackedBytes>,
    pub(super) value: Option<PyBackedBytes>,
    pub(super) headers: Headers,
    pub(super) timestamp: Option<Timestamp>,
}

impl OwnedRecord {
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
    pub(crate) fn borrow<'a>(
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
}

fn header((name, value): &(String, Option<PyBackedBytes>)) -> Header<'_> {
    Header { key: name.as_bytes(), value: value.as_deref() }
}
