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
use crate::python::owned::{Birth, Owned};
use crate::types::{Offset, PartitionIndex, TopicName, TopicPartition};

/// A partition's number, the first offset to read, and the first not to.
pub(crate) type Part = (i32, i64, i64);

/// What is to be read of each partition: from where, and up to where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    pub(crate) starts: Vec<(TopicPartition, Start)>,
    ends: Vec<(TopicPartition, Offset)>,
}

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

impl Range {
    /// Where the parts of a topic that are not empty begin and end.
    pub(crate) fn spans(topic: &str, parts: Vec<Part>) -> PyResult<Spans> {
        let topic: TopicName = topic.parse().map_err(|error: crate::types::InvalidTopicName| {
            refused(&ConfigError::single("topic", error.to_string()))
        })?;
        let mut spans = Spans::default();
        for (index, from, to) in parts {
            let offset = |number: i64| Offset::checked(number.max(0)).unwrap_or_default();
            if from < to {
                let partition = PartitionIndex(index);
                let partition = TopicPartition { topic: topic.clone(), partition };
                spans.starts.push((partition.clone(), Start::Offset(offset(from))));
                spans.ends.push((partition, offset(to)));
            }
        }
        Ok(spans)
    }

    /// How they are read.
    pub(crate) fn config() -> ConsumerConfig {
        ConsumerConfig { auto_create_topics: false, ..ConsumerConfig::default() }
    }

    /// Reads the spans by a consumer that begins where they do.
    pub(crate) fn of(consumer: Option<client::Consumer>, spans: &Spans, birth: &Birth) -> Self {
        let between = consumer.map(|consumer| {
            let consumer = Arc::new(consumer);
            let messages = client::UntilEnd::below(Arc::clone(&consumer), &spans.ends);
            Owned::new(Between { consumer, messages }, birth)
        });
        Self { inner: between }
    }

    /// What it reads from, if there is anything.
    pub(crate) fn place(&self) -> PyResult<Option<&dyn Place>> {
        let Some(inner) = &self.inner else { return Ok(None) };
        Ok(Some(inner.get()?))
    }
}

#[pymethods]
impl Range {
    #[new]
    fn new(py: Python<'_>, client: &Client, topic: &str, parts: Vec<Part>) -> PyResult<Self> {
        let spans = Self::spans(topic, parts)?;
        let owned = client.connected(py)?;
        if spans.starts.is_empty() {
            return Ok(Self::of(None, &spans, owned.birth()));
        }
        let connected = owned.get()?;
        let consumer = py.detach(|| connected.partition_consumer(&spans.starts, Self::config()));
        let consumer = consumer.map_err(|error| raised(py, error))?;
        Ok(Self::of(Some(consumer), &spans, owned.birth()))
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

    fn is_done(&self) -> bool {
        self.messages.is_done()
    }

    fn next(&self, timeout: Option<Duration>) -> Result<Option<client::Message>, ClientError> {
        self.messages.next_within(timeout)
    }
}
