//! The native class `Client`.

use std::sync::Arc;
use std::time::Duration;

use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods};
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pyfunction, pymethods};

use super::administration::Admin;
use super::arguments;
use super::connection::{Connection, read_settings};
use super::producing::Producer;
use super::reading::{Consumer, Decoders, Part, Range};
use super::watching;
use crate::python::docstrings::stub;
use crate::python::errors::{block_limit, left_block, raised};

#[doc = stub!("Client")]
#[pyclass(frozen, weakref, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Client {
    connection: Arc<Connection>,
}

impl Client {
    /// Wraps an open connection.
    pub(crate) fn of(connection: Connection) -> Self {
        Self { connection: Arc::new(connection) }
    }

    fn close_within(&self, py: Python<'_>, timeout: Option<Duration>) -> PyResult<()> {
        // A forked child that has not used the client has nothing to close.
        let Some(client) = self.connection.if_here()? else { return Ok(()) };
        py.detach(|| client.close_within(timeout)).map_err(|error| raised(py, error))
    }

    /// The connection, shared by everything created from the client.
    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(
        signature = (bootstrap=None, **options),
        text_signature = "(bootstrap=None, *, client_id='streamlog', timeout=10.0, config=None)"
    )]
    fn new(
        py: Python<'_>,
        bootstrap: Option<Bound<'_, PyAny>>,
        options: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let settings = read_settings(py, bootstrap, options)?;
        Connection::open(py, settings).map(Self::of)
    }

    #[doc = stub!("Client.producer")]
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, acks='all', compression='none', compression_level=None, \
                          linger=0.005, batch_size='64 KiB', buffer='64 MiB', \
                          max_request_size='1 MiB', send_timeout=60.0, delivery_timeout=120.0, \
                          idempotence=None, partitioner='keyed', audit=None, \
                          audit_window=600.0, key=None, value=None, encoding=None, \
                          config=None)"
    )]
    fn producer(
        &self,
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Producer>> {
        Producer::start(py, &self.connection, options)
    }

    #[doc = stub!("Client.consumer")]
    #[pyo3(
        signature = (topics, **options),
        text_signature = "($self, topics, *, group=None, commit='processed', commit_interval=1.0, \
                          start='earliest', on_out_of_range='earliest', key=None, value=None, \
                          tombstones='keep', on_error='raise', on_assign=None, on_revoke=None, \
                          stop=None, signals=False, buffer='24 MiB', fetch_bytes='8 MiB', \
                          fetch_wait=0.5, create_topics=False, config=None)"
    )]
    fn consumer(
        this: &Bound<'_, Self>,
        topics: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Consumer>> {
        Consumer::start(this.as_any(), &this.get().connection, topics, options)
    }

    #[doc = stub!("Client.topic")]
    fn topic<'py>(this: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("streamlog.topic")?.getattr("Topic")?.call1((this, name))
    }

    #[doc = stub!("Client.admin")]
    #[getter]
    fn admin(&self, py: Python<'_>) -> PyResult<Admin> {
        Admin::of(&*self.connection.client(py)?, None)
    }

    #[doc = stub!("Client.on_event")]
    fn on_event<'py>(&self, callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(called) = arguments::callable("callback", Some(callback.clone()))? {
            watching::watch(self.connection.client(callback.py())?.get()?, called)?;
        }
        Ok(callback.clone())
    }

    #[doc = stub!("Client.stats")]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        watching::stats(py, &self.connection.client(py)?.get()?.stats())
    }

    #[doc = stub!("Client.close")]
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.close_within(py, None)
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// Lets the block's own exception propagate, with a note about undelivered records. After
    /// Ctrl-C it does not wait for them for long.
    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        left_block("client", error, self.close_within(py, block_limit(error)))
    }

    /// Pickles the client as its settings; the copy opens its own connections.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((), Bound<'py, PyDict>)> {
        let settings = PyDict::new(py);
        for (name, value) in self.connection.settings().values() {
            settings.set_item(name, value)?;
        }
        let options = PyDict::new(py);
        options.set_item("config", settings)?;
        Ok(((), options))
    }

    fn __repr__(&self) -> String {
        let id = &self.connection.settings().client.client_id;
        format!("<Client {id:?} at {}>", self.connection.address())
    }
}

#[doc = stub!("open_range")]
#[pyfunction]
#[pyo3(signature = (client, topic, parts, on_out_of_range="earliest", decoders=None))]
pub(crate) fn open_range(
    client: &Bound<'_, Client>,
    topic: &str,
    parts: Vec<Part>,
    on_out_of_range: &str,
    decoders: Option<Decoders<'_>>,
) -> PyResult<Range> {
    let spans = Range::spans(topic, parts)?;
    Range::start(client.py(), &client.get().connection, spans, on_out_of_range, decoders)
}
