//! Reading between offsets.

use std::sync::Arc;
use std::time::Duration;

use pyo3::{Py, PyResult, Python, pyclass, pymethods};

use super::hooks::{Hooks, Place};
use super::message::Message;
use crate::client::{self, ClientError, ConsumerConfig, Start};
use crate::config::ConfigError;
use crate::python::client::Client;
use crate::python::errors::{raised, refused};
use crate::python::owned::Owned;
use crate::types::{Offset, PartitionIndex, TopicName, TopicPartition};

/// A partition's number, the first offset to read, and the first not to.
type Part = (i32, i64, i64);

/// The messages of a topic between offsets of its partitions.
#[pyclass(frozen, module = "streamlog._core.reading")]
#[derive(Debug)]
pub(crate) struct Range {
    /// `None` when there is nothing between them.
    inner: Option<Owned<Between>>,
}

#[derive(Debug)]
struct Between {
    consumer: Arc<client::Consumer>,
    messages: client::UntilEnd<Arc<client::Consumer>>,
}

#[pymethods]
impl Range {
    #[new]
    fn new(py: Python<'_>, client: &Client, topic: &str, parts: Vec<Part>) -> PyResult<Self> {
        let topic: TopicName = topic.parse().map_err(|error: crate::types::InvalidTopicName| {
            refused(&ConfigError::single("topic", error.to_string()))
        })?;
        let mut starts = Vec::new();
        let mut ends = Vec::new();
        for (index, from, to) in parts {
            let offset = |number: i64| Offset::checked(number.max(0)).unwrap_or_default();
            if from < to {
                let partition = PartitionIndex(index);
                let partition = TopicPartition { topic: topic.clone(), partition };
                starts.push((partition.clone(), Start::Offset(offset(from))));
                ends.push((partition, offset(to)));
            }
        }
        if starts.is_empty() {
            return Ok(Self { inner: None });
        }
        let config = ConsumerConfig { auto_create_topics: false, ..ConsumerConfig::default() };
        let owned = client.connected(py)?;
        let connected = owned.get()?;
        let consumer = py.detach(|| connected.partition_consumer(&starts, config));
        let consumer = Arc::new(consumer.map_err(|error| raised(py, error))?);
        let messages = client::UntilEnd::below(Arc::clone(&consumer), &ends);
        let between = Between { consumer, messages };
        Ok(Self { inner: Some(Owned::new(between, owned.birth())) })
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        match &self.inner {
            Some(inner) => Hooks::default().next(py, inner.get()?, None),
            None => Ok(None),
        }
    }
}

impl Place for Between {
    fn consumer(&self) -> &client::Consumer {
        &self.consumer
    }

    fn try_next(&self) -> Result<Option<client::Message>, ClientError> {
        self.messages.try_next()
    }

    fn next(&self, timeout: Option<Duration>) -> Result<Option<client::Message>, ClientError> {
        self.messages.next_within(timeout)
    }
}
