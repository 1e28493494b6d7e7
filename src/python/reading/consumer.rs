//! The native class `Consumer`.

use std::sync::Arc;
use std::time::Duration;

use pyo3::types::{PyAnyMethods, PyDelta, PyDict, PyModule, PyType};
use pyo3::{Bound, Py, PyAny, PyErr, PyResult, Python, pyclass, pymethods};

use super::arrow::ArrowBatches;
use super::batches::Batches;
use super::bounded::Bounded;
use super::hooks::Hooks;
use super::message::{Message, generic};
use super::session::{ByPartition, Readable, Session, SessionRef, named};
use super::source::Source;
use super::stream::Stream;
use super::subscription::{Subscription, read_topics};
use super::until_end::UntilEnd;
use crate::client;
use crate::config::ConfigError;
use crate::python::arguments::{self, Options, Seek};
use crate::python::connection::Connection;
use crate::python::docstrings::stub;
use crate::python::dropping::{close_at_exit, while_dropped};
use crate::python::errors::{raised, refused};
use crate::python::owned::Owned;
use crate::types::{PartitionIndex, TopicPartition};

/// The default number of messages in a batch.
const MAX_MESSAGES: usize = 500;
/// The default time that a batch waits for more messages after the first.
const MAX_WAIT: Duration = Duration::from_millis(200);

#[doc = stub!("Consumer")]
#[pyclass(frozen, weakref, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Consumer {
    session: Arc<Session>,
    connection: Arc<Connection>,
    /// The client's Python object.
    client: Py<PyAny>,
    topics: Vec<String>,
    group: Option<String>,
    /// True if an event or a signal ends the consumer.
    is_watched: bool,
}

impl Consumer {
    /// Creates a consumer of `topics` with the given options over the client's settings.
    pub(crate) fn start(
        client: &Bound<'_, PyAny>,
        connection: &Arc<Connection>,
        topics: &Bound<'_, PyAny>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let py = topics.py();
        let subscription = Self::subscription(connection, topics, given)?;
        let names: Vec<&str> = subscription.topics.iter().map(String::as_str).collect();
        let owned = connection.client(py)?;
        let connected = owned.get()?;
        let config = subscription.config.clone();
        let consumer = py.detach(|| connected.consumer(&names, config));
        let consumer = consumer.map_err(|error| raised(py, error))?;
        let signals = subscription.signals;
        let consumer = Self::of(client, connection, consumer, subscription)?;
        if consumer.get().is_watched {
            let stop = consumer.get().hooks().stop.as_ref();
            stopping(py)?.call_method1("watch", (&consumer, stop, signals))?;
        }
        Ok(consumer)
    }

    /// Reads the topics and options of a consumer.
    pub(crate) fn subscription(
        connection: &Connection,
        topics: &Bound<'_, PyAny>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Subscription> {
        let py = topics.py();
        let topics = read_topics(topics)?;
        let owned = connection.client(py)?;
        let settings = connection.settings().clone();
        Subscription::read(owned.get()?, topics, settings, Options::of(given)?, py)
    }

    /// Wraps the client's consumer with the user's callbacks. The event and the signals that end it
    /// are not watched yet.
    pub(crate) fn of(
        client: &Bound<'_, PyAny>,
        connection: &Arc<Connection>,
        consumer: client::Consumer,
        subscription: Subscription,
    ) -> PyResult<Py<Self>> {
        let py = client.py();
        let Subscription { topics, config, hooks, signals } = subscription;
        let birth = *connection.client(py)?.birth();
        let is_watched = hooks.stop.is_some() || signals;
        let session = Arc::new(Session::new(Owned::new(Arc::new(consumer), &birth), hooks));
        let (connection, client) = (Arc::clone(connection), client.clone().unbind());
        let group = config.group.id;
        let consumer =
            Py::new(py, Self { session, connection, client, topics, group, is_watched })?;
        close_at_exit(consumer.bind(py))?;
        Ok(consumer)
    }

    /// A session for an iterator over the consumer.
    pub(crate) fn session(this: Py<Self>) -> SessionRef {
        let session = Arc::clone(&this.get().session);
        SessionRef::new(&session, this.into_any())
    }

    fn consumer(&self) -> &Owned<Arc<client::Consumer>> {
        self.session.consumer()
    }

    fn hooks(&self) -> &Hooks {
        self.session.hooks()
    }

    /// The client's consumer, or an error if it is closed.
    fn open(&self, py: Python<'_>) -> PyResult<&client::Consumer> {
        let consumer = self.consumer().get()?;
        consumer.check_open().map_err(|error| raised(py, error))?;
        Ok(consumer)
    }

    /// Converts partitions, given as indexes or pairs of topic and index; all if none are given.
    fn chosen(&self, given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<TopicPartition>> {
        let Some(given) = given else { return Ok(self.consumer().get()?.assignment()) };
        match arguments::partition(given) {
            Ok((topic, index)) => Ok(vec![self.find(topic.as_deref(), index)?]),
            Err(error) => given
                .try_iter()
                .map_err(|_| error)?
                .map(|one| {
                    let (topic, index) = arguments::partition(&one?)?;
                    self.find(topic.as_deref(), index)
                })
                .collect(),
        }
    }

    /// Discards held messages of these partitions.
    fn forget(&self, is_meant: impl Fn(&TopicPartition) -> bool) {
        if let Some(held) = self.hooks().held() {
            held.forget(is_meant);
        }
    }

    fn set_paused(
        &self,
        py: Python<'_>,
        given: Option<&Bound<'_, PyAny>>,
        is_paused: bool,
    ) -> PyResult<()> {
        let consumer = self.open(py)?;
        for partition in self.chosen(given)? {
            // A partition revoked meanwhile is not read anyway.
            let _ = consumer.set_paused(&partition, is_paused);
        }
        Ok(())
    }

    /// Finds an assigned partition by its index, and its topic if there are several.
    fn find(&self, topic: Option<&str>, index: PartitionIndex) -> PyResult<TopicPartition> {
        let mut mine =
            self.consumer().get()?.positions().into_iter().map(|(partition, _)| partition);
        let mut meant = mine.by_ref().filter(|partition| {
            partition.partition == index && topic.is_none_or(|t| t == partition.topic.as_str())
        });
        match (meant.next(), meant.next()) {
            (Some(partition), None) => Ok(partition),
            (None, _) => {
                let reason = format!("{index} is not among those this consumer reads");
                Err(refused(&ConfigError::single("partition", reason)))
            }
            _ => {
                let reason = "there are several topics: the keys are to be (topic, partition)";
                Err(refused(&ConfigError::single("partition", reason)))
            }
        }
    }
}

#[pymethods]
impl Consumer {
    /// Fails for a consumer closed before the loop; closing it during the loop just ends the loop.
    fn __iter__(this: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        this.get().open(this.py())?;
        Ok(this)
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        self.session.next(py, None)
    }

    #[doc = stub!("Consumer.take")]
    #[pyo3(signature = (count, *, timeout=None))]
    fn take(
        this: Py<Self>,
        count: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bounded> {
        this.get().open(count.py())?;
        let (py, number) = (count.py(), arguments::value("count", count)?);
        Bounded::new(py, Self::session(this), number, timeout)
    }

    #[doc = stub!("Consumer.batches")]
    #[pyo3(
        signature = (*, max_messages=None, max_wait=None),
        text_signature = "($self, *, max_messages=500, max_wait=0.2)"
    )]
    fn batches(
        this: Py<Self>,
        py: Python<'_>,
        max_messages: Option<&Bound<'_, PyAny>>,
        max_wait: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Batches> {
        this.get().open(py)?;
        let max_messages = match max_messages {
            Some(number) => arguments::value("max_messages", number)?,
            None => MAX_MESSAGES,
        };
        if max_messages == 0 {
            let reason = "a batch has at least one message";
            return Err(refused(&ConfigError::single("max_messages", reason)));
        }
        let max_wait = match max_wait {
            Some(seconds) => arguments::max_wait("max_wait", seconds)?,
            None => MAX_WAIT,
        };
        Ok(Batches::of(Self::session(this), max_messages, max_wait))
    }

    #[doc = stub!("Consumer.arrow")]
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, columns=None, max_rows=65536, max_bytes='4 MiB', max_wait=0.2)"
    )]
    fn arrow(
        this: Py<Self>,
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<ArrowBatches> {
        this.get().open(py)?;
        ArrowBatches::of(py, this, options)
    }

    #[doc = stub!("Consumer.streams")]
    fn streams(this: Py<Self>, count: &Bound<'_, PyAny>) -> PyResult<Vec<Stream>> {
        let number = arguments::value("count", count)?;
        Stream::split(count.py(), &Self::session(this), number)
    }

    #[doc = stub!("Consumer.until_end")]
    fn until_end(this: Py<Self>, py: Python<'_>) -> PyResult<UntilEnd> {
        this.get().open(py)?;
        UntilEnd::of(py, Self::session(this))
    }

    #[doc = stub!("Consumer.seek")]
    fn seek(&self, py: Python<'_>, to: &Bound<'_, PyAny>) -> PyResult<()> {
        let consumer = self.open(py)?;
        let failed = |error| raised(py, error);
        match Seek::of(to)? {
            Seek::All(start) => {
                py.detach(|| consumer.seek_all(start)).map_err(failed)?;
                self.forget(|_| true);
                Ok(())
            }
            Seek::Some(places) => places.into_iter().try_for_each(|(topic, index, start)| {
                let partition = self.find(topic.as_deref(), index)?;
                py.detach(|| consumer.seek(&partition, start)).map_err(failed)?;
                self.forget(|held| *held == partition);
                Ok(())
            }),
        }
    }

    #[doc = stub!("Consumer.positions")]
    fn positions(&self) -> PyResult<ByPartition<Option<i64>>> {
        self.session.positions()
    }

    #[doc = stub!("Consumer.lag")]
    fn lag(&self) -> PyResult<ByPartition<Option<i64>>> {
        Ok(self.consumer().get()?.lag().into_iter().map(|(at, lag)| (named(&at), lag)).collect())
    }

    #[doc = stub!("Consumer.assignment")]
    fn assignment(&self) -> PyResult<Vec<(String, i32)>> {
        Ok(self.positions()?.into_keys().collect())
    }

    #[doc = stub!("Consumer.rewind")]
    #[pyo3(signature = (back=None, *, messages=None))]
    fn rewind(
        &self,
        py: Python<'_>,
        back: Option<Bound<'_, PyAny>>,
        messages: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let to = match (back, messages) {
            (Some(back), None) => backwards(&back)?,
            (None, Some(count)) => {
                let backwards = py.import("streamlog.backwards")?;
                backwards.call_method1("rewound", (&self.client, self.positions()?, count))?
            }
            _ => {
                let reason = "expected either a timedelta or messages=, not both and not neither";
                return Err(refused(&ConfigError::single("rewind", reason)));
            }
        };
        self.seek(py, &to)
    }

    #[doc = stub!("Consumer.pause")]
    #[pyo3(signature = (partitions=None))]
    fn pause(&self, py: Python<'_>, partitions: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.set_paused(py, partitions, true)
    }

    #[doc = stub!("Consumer.resume")]
    #[pyo3(signature = (partitions=None))]
    fn resume(&self, py: Python<'_>, partitions: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.set_paused(py, partitions, false)
    }

    #[doc = stub!("Consumer.commit")]
    #[pyo3(signature = (message=None))]
    fn commit(&self, py: Python<'_>, message: Option<&Bound<'_, Message>>) -> PyResult<()> {
        if let Some(message) = message {
            return self.session.commit_after(py, message);
        }
        let consumer = self.consumer().get()?;
        let given = self.hooks().reached(consumer.received());
        let committed = py.detach(|| consumer.commit_offsets(given));
        committed.map_err(|error| raised(py, error))
    }

    #[doc = stub!("Consumer.end")]
    fn end(&self) -> PyResult<()> {
        self.consumer().get()?.end();
        Ok(())
    }

    #[doc = stub!("Consumer.close")]
    fn close(this: &Bound<'_, Self>) -> PyResult<()> {
        let py = this.py();
        // A forked child that ends within the block of its parent's consumer has nothing to close.
        let Ok(consumer) = this.get().consumer().get() else { return Ok(()) };
        py.detach(|| consumer.close());
        // The exception of a signal handler that has interrupted the wait for leaving the group.
        let raised = PyErr::take(py);
        if this.get().is_watched {
            stopping(py)?.call_method1("forget", (this,))?;
        }
        raised.map_or(Ok(()), Err)
    }

    #[doc = stub!("Consumer._close_all")]
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 converts a list to a vector")]
    fn _close_all(py: Python<'_>, consumers: Vec<Bound<'_, Self>>) -> PyResult<()> {
        let own = |consumer: &Bound<'_, Self>| consumer.get().consumer().get().ok().cloned();
        let consumers: Vec<_> = consumers.iter().filter_map(own).collect();
        let closed = py.detach(|| {
            let consumers: Vec<&client::Consumer> = consumers.iter().map(|it| &**it).collect();
            client::Consumer::close_all(&consumers)
        });
        closed.map_err(|error| raised(py, error))
    }

    #[doc = stub!("Consumer.closed")]
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        Ok(self.consumer().get()?.is_closed())
    }

    fn __repr__(&self) -> String {
        let topics: Vec<String> = self.topics.iter().map(|topic| format!("{topic:?}")).collect();
        let group = self.group.as_ref().map(|group| format!(", group {group:?}"));
        let closed = if self.closed().unwrap_or(true) { ", closed" } else { "" };
        let (topics, address) = (topics.join(", "), self.connection.address());
        format!("<Consumer of {topics} at {address}{}{closed}>", group.unwrap_or_default())
    }

    /// Supports `Consumer[int]` in type annotations.
    #[classmethod]
    fn __class_getitem__<'py>(
        cls: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        generic(cls, item)
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __exit__(
        this: &Bound<'_, Self>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        Self::close(this)
    }
}

impl Readable for Py<Consumer> {
    fn source(&self) -> PyResult<Option<&dyn Source>> {
        Ok(Some(self.get().consumer().get()?))
    }

    fn session(&self) -> Option<&Session> {
        Some(&self.get().session)
    }

    fn hooks(&self) -> &Hooks {
        self.get().hooks()
    }

    fn positions(&self) -> PyResult<ByPartition<Option<i64>>> {
        self.get().session.positions()
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // A forked child is not a group member. Leaving a group takes time, so release the
        // interpreter.
        if let Ok(consumer) = self.consumer().get() {
            while_dropped(|py| py.detach(|| consumer.close()));
        }
    }
}

/// A time span as a position in the past.
fn backwards<'py>(back: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let is_past =
        back.is_instance_of::<PyDelta>() && back.ge(PyDelta::new(back.py(), 0, 0, 0, true)?)?;
    if is_past {
        return back.neg();
    }
    Err(arguments::misfit("rewind", back, "a timedelta that is not negative, or messages="))
}

/// The Python module that ends loops from outside: by events and signals.
fn stopping(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("streamlog.stopping")
}
