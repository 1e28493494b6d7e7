//! Reading records.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::types::{PyAnyMethods, PyDict, PyString};
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use super::bounded::Bounded;
use super::message::Message;
use super::until_end::UntilEnd;
use crate::client::{self, ClientError, Commit, ConsumerConfig, GroupConfig};
use crate::config::{ConfigError, Fault, set_all};
use crate::python::arguments::{self, Options, Seek, Word};
use crate::python::errors::{raised, refused};
use crate::python::owned::Owned;
use crate::types::{Offset, TopicPartition};

/// Keywords of `Client.consumer` that are settings.
const WORDS: &[Word] = &[
    Word::plain("group", "group.id"),
    Word::seconds("commit_interval", "auto.commit.interval.ms"),
    Word::plain("out_of_range", "auto.offset.reset"),
    Word::plain("buffer", "fetch.buffer.bytes"),
    Word::plain("fetch_bytes", "fetch.max.bytes"),
    Word::seconds("fetch_wait", "fetch.max.wait.ms"),
];

/// By topic and partition.
type ByPartition<T> = HashMap<(String, i32), T>;

/// Reads records, for ever.
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Consumer {
    inner: Owned<Arc<client::Consumer>>,
}

impl Consumer {
    /// Reads `topics` with the options that were given, else as `config` says.
    pub(crate) fn start(
        client: &Owned<client::Client>,
        config: ConsumerConfig,
        topics: &Bound<'_, PyAny>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let py = topics.py();
        let names: Vec<String> = match topics.cast::<PyString>() {
            Ok(topic) => vec![topic.extract()?],
            Err(_) => topics.extract()?,
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let config = read_config(config, Options::of(given)?)?;
        let connected = client.get()?;
        let consumer = py.detach(|| connected.consumer(&names, config));
        let consumer = consumer.map_err(|error| raised(py, error))?;
        Ok(Self { inner: Owned::new(Arc::new(consumer), client.birth()) })
    }

    /// The consumer behind it.
    pub(crate) fn reader(&self) -> &Owned<Arc<client::Consumer>> {
        &self.inner
    }

    /// The next message within `timeout` seconds; `None` when there is none, or never will be.
    pub(crate) fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Message>> {
        let consumer = self.inner.get()?;
        let mut next = consumer.try_next();
        if matches!(next, Ok(None)) {
            let timeout = arguments::timeout(timeout)?;
            next = py.detach(|| consumer.next(timeout));
        }
        match next {
            Ok(message) => Ok(message.map(Into::into)),
            Err(ClientError::Closed) => Ok(None),
            Err(error) => Err(raised(py, error)),
        }
    }

    /// The partition meant by its number, and its topic unless there is one only.
    fn find(&self, topic: Option<&str>, index: i32) -> PyResult<TopicPartition> {
        let mut mine = self.inner.get()?.positions().into_iter().map(|(partition, _)| partition);
        let mut meant = mine.by_ref().filter(|partition| {
            partition.partition.0 == index && topic.is_none_or(|t| t == partition.topic.as_str())
        });
        match (meant.next(), meant.next()) {
            (Some(partition), None) => Ok(partition),
            (None, _) => {
                let reason = format!("partition {index} is not among those this consumer reads");
                Err(refused(&ConfigError::single("to", reason)))
            }
            _ => {
                let reason = "there are several topics: the keys are to be (topic, partition)";
                Err(refused(&ConfigError::single("to", reason)))
            }
        }
    }
}

#[pymethods]
impl Consumer {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        self.next(py, None)
    }

    #[pyo3(signature = (count, *, timeout=None))]
    fn take(this: Py<Self>, py: Python<'_>, count: u64, timeout: Option<f64>) -> PyResult<Bounded> {
        Bounded::new(py, this, count, timeout)
    }

    fn until_end(this: Py<Self>, py: Python<'_>) -> PyResult<UntilEnd> {
        UntilEnd::of(py, this)
    }

    fn seek(&self, py: Python<'_>, to: &Bound<'_, PyAny>) -> PyResult<()> {
        let consumer = self.inner.get()?;
        match Seek::of(to)? {
            Seek::All(start) => py.detach(|| consumer.seek_all(start)),
            Seek::Some(places) => {
                for (topic, index, start) in places {
                    let partition = self.find(topic.as_deref(), index.0)?;
                    let sought = py.detach(|| consumer.seek(&partition, start));
                    sought.map_err(|error| raised(py, error))?;
                }
            }
        }
        Ok(())
    }

    fn positions(&self) -> PyResult<ByPartition<Option<i64>>> {
        let positions = self.inner.get()?.positions().into_iter();
        Ok(positions.map(|(at, offset)| (named(&at), offset.map(Offset::get))).collect())
    }

    fn lag(&self) -> PyResult<ByPartition<Option<i64>>> {
        Ok(self.inner.get()?.lag().into_iter().map(|(at, lag)| (named(&at), lag)).collect())
    }

    fn assignment(&self) -> PyResult<Vec<(String, i32)>> {
        Ok(self.inner.get()?.positions().iter().map(|(partition, _)| named(partition)).collect())
    }

    #[pyo3(signature = (message=None))]
    fn commit(&self, py: Python<'_>, message: Option<&Bound<'_, Message>>) -> PyResult<()> {
        let consumer = self.inner.get()?;
        let committed = match message {
            Some(message) => {
                let after = message.get().after()?;
                py.detach(|| consumer.commit_offsets(vec![after]))
            }
            None => py.detach(|| consumer.commit()),
        };
        committed.map_err(|error| raised(py, error))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let consumer = self.inner.get()?;
        py.detach(|| consumer.close());
        Ok(())
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // A forked child is no member. Leaving a group takes a moment that others can use.
        if let Ok(consumer) = self.inner.get() {
            Python::attach(|py| py.detach(|| consumer.close()));
        }
    }
}

fn read_config(mut config: ConsumerConfig, mut options: Options<'_>) -> PyResult<ConsumerConfig> {
    let start = options.take("start");
    let commit = options.take_as::<String>("commit")?;
    let keys = [ConsumerConfig::KEYS, GroupConfig::KEYS].concat();
    options.apply(WORDS, &mut |values| set_all(&mut config, &keys, values.iter().copied()))?;
    if let Some(start) = start {
        config.start = arguments::start("start", &start)?;
    }
    if let Some(commit) = commit {
        config.group.commit = read_commit(&commit)?;
    }
    Ok(config)
}

fn read_commit(word: &str) -> PyResult<Commit> {
    match word {
        "processed" => Ok(Commit::Processed),
        "received" => Ok(Commit::Received),
        "manual" => Ok(Commit::Manual),
        other => {
            let fault = Fault::invalid("commit", other, "processed, received or manual");
            Err(refused(&ConfigError { faults: vec![fault] }))
        }
    }
}

fn named(partition: &TopicPartition) -> (String, i32) {
    (partition.topic.to_string(), partition.partition.0)
}
