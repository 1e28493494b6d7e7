//! Operations that complete asynchronously: connecting, creating consumers, reading a range.

use std::sync::Arc;

use pyo3::types::PyDict;
use pyo3::{Bound, IntoPyObject, IntoPyObjectExt, Py, PyAny, PyResult, Python, pyfunction};

use crate::client;
use crate::python::administration::Admin;
use crate::python::client::Client;
use crate::python::connection::{Connection, read_settings};
use crate::python::futures::EventLoop;
use crate::python::reading::{Consumer, Decoders, Part, Range, UntilEnd};

type Awaitable<'py> = PyResult<Bound<'py, PyAny>>;

/// Connects a client; the future is ready once a bootstrap broker has answered.
#[pyfunction]
#[pyo3(
    signature = (event_loop, bootstrap=None, **options),
    text_signature = "(event_loop, bootstrap=None, **options)"
)]
pub(crate) fn connect<'py>(
    event_loop: &Bound<'py, EventLoop>,
    bootstrap: Option<Bound<'py, PyAny>>,
    options: Option<Bound<'py, PyDict>>,
) -> Awaitable<'py> {
    let settings = read_settings(event_loop.py(), bootstrap, options)?;
    let connecting = client::Client::connecting(settings.client.clone());
    EventLoop::ask(event_loop, connecting, move |py, connected| {
        made(py, Client::of(Connection::of(py, connected, settings)?))
    })
}

/// A client whose tasks end when this is dropped, also if the caller no longer waits for its
/// closing.
struct Ending(client::Client);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Closes a client and everything created from it.
#[pyfunction]
pub(crate) fn close<'py>(
    event_loop: &Bound<'py, EventLoop>,
    client: &Bound<'py, Client>,
) -> Awaitable<'py> {
    let connected = client.get().connection().if_here()?.map(Ending);
    let closing = async move {
        match &connected {
            Some(Ending(client)) => client.closing().await,
            None => Ok(()),
        }
    };
    EventLoop::ask(event_loop, closing, |py, ()| Ok(py.None()))
}

/// Creates a consumer; the future is ready once its topics are found.
#[pyfunction]
#[pyo3(signature = (event_loop, client, topics, **options))]
pub(crate) fn consumer<'py>(
    event_loop: &Bound<'py, EventLoop>,
    client: &Bound<'py, Client>,
    topics: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> Awaitable<'py> {
    let py = event_loop.py();
    let connection = Arc::clone(client.get().connection());
    let subscription = Consumer::subscription(&connection, topics, options)?;
    let connected = connection.client(py)?.get()?.clone();
    let (names, config) = (subscription.topics.clone(), subscription.config.clone());
    let making = async move {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        connected.making_consumer(&names, config).await
    };
    let client = client.clone().unbind();
    EventLoop::ask(event_loop, making, move |py, consumer| {
        made(py, Consumer::of(client.bind(py).as_any(), &connection, consumer, subscription)?)
    })
}

/// Reads up to the current end; the future is ready once the end offsets are known.
#[pyfunction]
pub(crate) fn until_end<'py>(
    event_loop: &Bound<'py, EventLoop>,
    consumer: Py<Consumer>,
) -> Awaitable<'py> {
    let session = Consumer::session(consumer);
    let making = client::UntilEnd::making(Arc::clone(session.consumer().get()?));
    EventLoop::ask(event_loop, making, move |py, messages| {
        made(py, UntilEnd::up_to(session, messages))
    })
}

/// Reads a topic between offsets; the future is ready once its partitions are found.
#[pyfunction]
#[pyo3(signature = (event_loop, client, topic, parts, decoders=None))]
pub(crate) fn range<'py>(
    event_loop: &Bound<'py, EventLoop>,
    client: &Bound<'py, Client>,
    topic: &str,
    parts: Vec<Part>,
    decoders: Option<Decoders<'_>>,
) -> Awaitable<'py> {
    let py = event_loop.py();
    let spans = Range::spans(topic, parts)?;
    let connection = client.get().connection();
    let owned = connection.client(py)?;
    let (connected, birth) = (owned.get()?.clone(), *owned.birth());
    let hooks = Range::decoding(decoders, &connected)?;
    let (starts, config) = (spans.starts.clone(), Range::config(connection));
    let making = async move {
        if starts.is_empty() {
            return Ok(None);
        }
        connected.making_partition_consumer(&starts, config).await.map(Some)
    };
    EventLoop::ask(event_loop, making, move |py, consumer| {
        made(py, Range::of(consumer, spans, hooks, &birth))
    })
}

/// The administration whose methods return asyncio futures.
#[pyfunction]
pub(crate) fn admin(event_loop: Py<EventLoop>, client: &Bound<'_, Client>) -> PyResult<Admin> {
    Admin::of(&*client.get().connection().client(client.py())?, Some(event_loop))
}

fn made<'py, T>(py: Python<'py>, value: T) -> PyResult<Py<PyAny>>
where
    T: IntoPyObject<'py>,
{
    value.into_py_any(py)
}
