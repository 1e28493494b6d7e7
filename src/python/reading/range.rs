//! The native class `Range`: reading between offsets.

use std::sync::Arc;

use pyo3::types::PyDict;
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use super::arrow::ArrowBatches;
use super::decoding::Decoding;
use super::hooks::Hooks;
use super::message::Message;
use super::session::{ByPartition, Readable, Session, named};
use super::source::Source;
use super::subscription::read_out_of_range;
use crate::client::{self, ConsumerConfig, GroupConfig, OutOfRange, Start};
use crate::config::ConfigError;
use crate::python::arguments;
use crate::python::connection::Connection;
use crate::python::docstrings::stub;
use crate::python::errors::{raised, refused};
use crate::python::owned::{Birth, Owned};
use crate::types::{Offset, PartitionIndex, TopicName, TopicPartition};

/// A partition's index, the first offset to read, and the end offset.
pub(crate) type Part = (i32, i64, i64);

/// The decoders of keys and of values.
pub(crate) type Decoders<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// The range to read of each partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    /// The starts of the non-empty ranges.
    pub(crate) starts: Vec<(TopicPartition, Start)>,
    ends: Vec<(TopicPartition, Offset)>,
    /// The starts of all ranges, including empty ones.
    begins: Vec<(TopicPartition, Offset)>,
}

#[doc = stub!("Range")]
#[pyclass(frozen, module = "streamlog._core.bounded")]
#[derive(Debug)]
pub(crate) struct Range {
    /// `None` if all ranges are empty.
    inner: Option<Owned<client::UntilEnd<Arc<client::Consumer>>>>,
    /// The start of each range.
    begins: Vec<(TopicPartition, Offset)>,
    hooks: Hooks,
}

impl Range {
    /// Converts the parts of a topic to ranges.
    pub(crate) fn spans(topic: &str, parts: Vec<Part>) -> PyResult<Spans> {
        let topic: TopicName = topic.parse().map_err(|error: crate::types::InvalidTopicName| {
            refused(&ConfigError::single("topic", error.to_string()))
        })?;
        let mut spans = Spans::default();
        for (index, from, to) in parts {
            let offset = |number: i64| Offset::checked(number.max(0)).unwrap_or_default();
            let partition = PartitionIndex(index);
            let partition = TopicPartition { topic: topic.clone(), partition };
            if from < to {
                spans.starts.push((partition.clone(), Start::Offset(offset(from))));
                spans.ends.push((partition.clone(), offset(to)));
            }
            spans.begins.push((partition, offset(from)));
        }
        Ok(spans)
    }

    /// The consumer settings of the client, without a group.
    pub(crate) fn config(connection: &Connection) -> ConsumerConfig {
        ConsumerConfig {
            start: Start::default(),
            out_of_range: OutOfRange::default(),
            auto_create_topics: false,
            group: GroupConfig::default(),
            ..connection.settings().consumer.clone()
        }
    }

    /// Starts reading the ranges.
    pub(crate) fn start(
        py: Python<'_>,
        connection: &Connection,
        spans: Spans,
        on_out_of_range: &str,
        decoders: Option<Decoders<'_>>,
    ) -> PyResult<Self> {
        let out_of_range = read_out_of_range(on_out_of_range)?;
        let owned = connection.client(py)?;
        let client = owned.get()?;
        let hooks = Self::decoding(decoders, client)?;
        if spans.starts.is_empty() {
            return Ok(Self::of(None, spans, hooks, owned.birth()));
        }
        let config = ConsumerConfig { out_of_range, ..Self::config(connection) };
        let consumer = py.detach(|| client.partition_consumer(&spans.starts, config));
        let consumer = consumer.map_err(|error| raised(py, error))?;
        Ok(Self::of(Some(consumer), spans, hooks, owned.birth()))
    }

    /// Reads the ranges with a consumer positioned at their starts.
    pub(crate) fn of(
        consumer: Option<client::Consumer>,
        spans: Spans,
        hooks: Hooks,
        birth: &Birth,
    ) -> Self {
        let inner = consumer.map(|consumer| {
            Owned::new(client::UntilEnd::below(Arc::new(consumer), &spans.ends), birth)
        });
        Self { inner, begins: spans.begins, hooks }
    }

    /// Reads the decoders.
    pub(crate) fn decoding(
        decoders: Option<Decoders<'_>>,
        client: &client::Client,
    ) -> PyResult<Hooks> {
        let (key, value) = decoders.unwrap_or_default();
        let key = arguments::callable("key", key)?;
        let value = arguments::callable("value", value)?;
        let decoding = Decoding::of(key, value, None, false, client)?;
        Ok(Hooks { decoding, ..Hooks::default() })
    }
}

impl Readable for Py<Range> {
    fn source(&self) -> PyResult<Option<&dyn Source>> {
        let Some(inner) = &self.get().inner else { return Ok(None) };
        Ok(Some(inner.get()?))
    }

    fn session(&self) -> Option<&Session> {
        None
    }

    fn hooks(&self) -> &Hooks {
        &self.get().hooks
    }

    fn positions(&self) -> PyResult<ByPartition<Option<i64>>> {
        let row =
            |(partition, offset): &(TopicPartition, Offset)| (named(partition), Some(offset.get()));
        let range = self.get();
        let mut positions: ByPartition<_> = range.begins.iter().map(row).collect();
        if let Some(inner) = &range.inner {
            let known = inner.get()?.consumer().positions().into_iter();
            let known = known.filter_map(|(partition, offset)| Some((partition, offset?)));
            positions.extend(known.map(|known| row(&known)));
        }
        Ok(positions)
    }
}

#[pymethods]
impl Range {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        match &self.inner {
            Some(inner) => self.hooks.next(py, inner.get()?, None),
            None => Ok(None),
        }
    }

    #[doc = stub!("Range.arrow")]
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, columns=None, max_rows=65536, max_bytes='4 MiB', \
                          max_wait=0.2, limit=None, timeout=None)"
    )]
    fn arrow(
        this: Py<Self>,
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<ArrowBatches> {
        ArrowBatches::limited(py, this, options)
    }
}
