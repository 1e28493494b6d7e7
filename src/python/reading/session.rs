//! The state that a consumer and its iterators share, and the interface of all objects that can be
//! read.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use pyo3::{Bound, Py, PyAny, PyResult, Python};

use super::hooks::Hooks;
use super::message::Message;
use super::source::Source;
use crate::client;
use crate::python::errors::raised;
use crate::python::owned::Owned;
use crate::types::{Offset, TopicPartition};

/// Values by topic and partition.
pub(crate) type ByPartition<T> = BTreeMap<(String, i32), T>;

/// The client's consumer, and the user code involved in reading from it.
#[derive(Debug)]
pub(crate) struct Session {
    consumer: Owned<Arc<client::Consumer>>,
    hooks: Hooks,
}

/// A Python object that messages are read from: a consumer, a stream, or a read up to an end.
pub(crate) trait Readable: Debug + Send + Sync {
    /// The source of its messages; `None` if there is nothing to read.
    fn source(&self) -> PyResult<Option<&dyn Source>>;
    /// The session of its consumer; `None` for a read between offsets, which commits nothing.
    fn session(&self) -> Option<&Session>;
    /// The user code involved in reading.
    fn hooks(&self) -> &Hooks;
    /// The next offset to read, by topic and partition.
    fn positions(&self) -> PyResult<ByPartition<Option<i64>>>;
}

/// The session of an iterator.
#[derive(Debug)]
pub(crate) struct SessionRef {
    session: Arc<Session>,
    /// Keeps the Python object alive: without references, it closes the consumer.
    object: Py<PyAny>,
}

impl Session {
    /// A session of `consumer`.
    pub(crate) fn new(consumer: Owned<Arc<client::Consumer>>, hooks: Hooks) -> Self {
        Self { consumer, hooks }
    }

    /// The client's consumer.
    pub(crate) fn consumer(&self) -> &Owned<Arc<client::Consumer>> {
        &self.consumer
    }

    /// The user code involved in reading.
    pub(crate) fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Returns the next message within `timeout` seconds; `None` after the timeout or at the end.
    pub(crate) fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Message>> {
        self.hooks.next(py, self.consumer.get()?, timeout)
    }

    /// The next offset to read, by topic and partition.
    pub(crate) fn positions(&self) -> PyResult<ByPartition<Option<i64>>> {
        let held = self.hooks.held();
        let reached = |at: &TopicPartition, offset| {
            held.map_or(offset, |held| held.reached(at, offset)).get()
        };
        let positions = self.consumer.get()?.positions().into_iter();
        let row = |(at, offset): (TopicPartition, Option<Offset>)| {
            (named(&at), offset.map(|offset| reached(&at, offset)))
        };
        Ok(positions.map(row).collect())
    }

    /// Commits the position after a message.
    pub(crate) fn commit_after(
        &self,
        py: Python<'_>,
        message: &Bound<'_, Message>,
    ) -> PyResult<()> {
        let consumer = self.consumer.get()?;
        let after = message.get().after()?;
        let committed = py.detach(|| consumer.commit_offsets(vec![after]));
        committed.map_err(|error| raised(py, error))
    }
}

impl SessionRef {
    /// The session of a consumer that is the Python object `object`.
    pub(super) fn new(session: &Arc<Session>, object: Py<PyAny>) -> Self {
        Self { session: Arc::clone(session), object }
    }

    /// Another reference to the same session.
    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self::new(&self.session, self.object.clone_ref(py))
    }
}

impl Deref for SessionRef {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

/// A partition as Python's pair of topic and index.
pub(super) fn named(partition: &TopicPartition) -> (String, i32) {
    (partition.topic.to_string(), partition.partition.0)
}
