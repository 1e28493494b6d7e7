//! The native class `RecordMetadata`.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::types::PyString;
use pyo3::{Bound, PyAny, PyResult, Python, pyclass, pymethods};

use crate::client;
use crate::python::arguments::datetime;
use crate::python::docstrings::stub;
use crate::types::Timestamp;

#[doc = stub!("RecordMetadata")]
#[pyclass(frozen, eq, module = "streamlog")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RecordMetadata {
    topic: String,
    #[doc = stub!("RecordMetadata.partition")]
    #[pyo3(get)]
    partition: i32,
    #[doc = stub!("RecordMetadata.offset")]
    #[pyo3(get)]
    offset: Option<i64>,
    #[doc = stub!("RecordMetadata.timestamp_ms")]
    #[pyo3(get)]
    timestamp_ms: i64,
}

impl From<client::RecordMetadata> for RecordMetadata {
    fn from(metadata: client::RecordMetadata) -> Self {
        Self {
            topic: metadata.topic.to_string(),
            partition: metadata.partition.0,
            offset: metadata.offset.map(crate::types::Offset::get),
            timestamp_ms: metadata.timestamp.millis(),
        }
    }
}

#[pymethods]
impl RecordMetadata {
    #[classattr]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __match_args__: (&str, &str, &str, &str) = ("topic", "partition", "offset", "timestamp");

    #[new]
    fn new(topic: String, partition: i32, offset: Option<i64>, timestamp_ms: i64) -> Self {
        Self { topic, partition, offset, timestamp_ms }
    }

    #[doc = stub!("RecordMetadata.topic")]
    #[getter]
    fn topic<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::intern(py, &self.topic)
    }

    #[doc = stub!("RecordMetadata.timestamp")]
    #[getter]
    fn timestamp<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let place = || match self.offset {
            Some(offset) => format!("{}-{} at offset {offset}", self.topic, self.partition),
            None => format!("a record of {}-{}", self.topic, self.partition),
        };
        datetime(py, Timestamp::from_millis(self.timestamp_ms), place)
    }

    fn __getnewargs__(&self) -> (&str, i32, Option<i64>, i64) {
        (&self.topic, self.partition, self.offset, self.timestamp_ms)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let offset = self.offset.map_or_else(|| "None".to_owned(), |offset| offset.to_string());
        format!("RecordMetadata({:?}, partition={}, offset={offset})", self.topic, self.partition)
    }
}
