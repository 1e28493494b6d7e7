//! The native class `Client`.

use std::env;
use std::sync::Arc;

use arc_swap::Guard;
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods};
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use super::administration::Admin;
use super::arguments::{self, Form, Options, Word};
use super::errors::raised;
use super::logging;
use super::owned::{Birth, Owned, Renewed};
use super::producing::Producer;
use super::reading::Consumer;
use super::signals::Interpreter;
use super::watching;
use crate::client::{self, ClientConfig, ClientSettings};
use crate::python::docstrings::stub;

const WORDS: &[Word] = &[
    Word { name: "bootstrap", key: "bootstrap.servers", form: Form::List },
    Word::plain("client_id", "client.id"),
    Word::seconds("timeout", "default.api.timeout.ms"),
];

/// The environment variable with the addresses to connect to, used if the program gives none.
const BOOTSTRAP_VARIABLE: &str = "STREAMLOG_BOOTSTRAP";

#[doc = stub!("Client")]
#[pyclass(frozen, weakref, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Client {
    inner: Renewed<client::Client>,
    defaults: ClientSettings,
}

impl Client {
    /// The client; a forked child connects its own.
    pub(crate) fn connected(&self, py: Python<'_>) -> PyResult<Guard<Arc<Owned<client::Client>>>> {
        self.inner.get(py, || connect(py, &self.defaults))
    }

    /// The client, unless this is a forked child that has not used it.
    pub(crate) fn if_here(&self) -> PyResult<Option<client::Client>> {
        let Some(current) = self.inner.if_here() else { return Ok(None) };
        current.get().cloned().map(Some)
    }

    /// The bootstrap addresses, separated by commas.
    pub(crate) fn address(&self) -> String {
        let servers = self.defaults.client.bootstrap.iter();
        servers.map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    /// The client's settings, which are the defaults of its producers and consumers.
    pub(crate) fn defaults(&self) -> &ClientSettings {
        &self.defaults
    }

    /// Combines the given settings with the address from the environment.
    pub(crate) fn settings(
        py: Python<'_>,
        bootstrap: Option<Bound<'_, PyAny>>,
        options: Option<Bound<'_, PyDict>>,
    ) -> PyResult<ClientSettings> {
        let options = options.unwrap_or_else(|| PyDict::new(py));
        match (bootstrap, env::var(BOOTSTRAP_VARIABLE)) {
            (Some(bootstrap), _) => options.set_item("bootstrap", bootstrap)?,
            (None, Ok(text)) if !names_servers(&options)? => options.set_item("bootstrap", text)?,
            (None, _) => {}
        }
        let mut defaults = ClientSettings::default();
        let options = Options::of(Some(&options))?;
        options.apply(WORDS, &mut |values| defaults.set_all(values.iter().copied()))?;
        logging::install(py)?;
        Ok(defaults)
    }

    /// Wraps a connected client.
    pub(crate) fn of(
        py: Python<'_>,
        client: client::Client,
        defaults: ClientSettings,
    ) -> PyResult<Self> {
        Ok(Self { inner: Renewed::new(client, &Birth::now(py)?), defaults })
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
        let defaults = Self::settings(py, bootstrap, options)?;
        Self::of(py, connect(py, &defaults)?, defaults)
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
    fn producer(this: &Bound<'_, Self>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Producer> {
        Producer::start(this, this.get().defaults.clone(), options)
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
        Consumer::start(this, topics, options)
    }

    #[doc = stub!("Client.topic")]
    fn topic<'py>(this: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("streamlog.topic")?.getattr("Topic")?.call1((this, name))
    }

    #[doc = stub!("Client.admin")]
    #[getter]
    fn admin(&self, py: Python<'_>) -> PyResult<Admin> {
        Admin::of(&*self.connected(py)?, None)
    }

    #[doc = stub!("Client.on_event")]
    fn on_event<'py>(&self, callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(called) = arguments::callable("callback", Some(callback.clone()))? {
            watching::watch(self.connected(callback.py())?.get()?, called)?;
        }
        Ok(callback.clone())
    }

    #[doc = stub!("Client.stats")]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        watching::stats(py, &self.connected(py)?.get()?.stats())
    }

    #[doc = stub!("Client.close")]
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        // A forked child that has not used the client has nothing to close.
        let Some(current) = self.inner.if_here() else { return Ok(()) };
        let client = current.get()?;
        py.detach(|| client.close());
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

    /// Pickles the client as its settings; the copy connects its own.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((), Bound<'py, PyDict>)> {
        let settings = PyDict::new(py);
        for (name, value) in self.defaults.values() {
            settings.set_item(name, value)?;
        }
        let options = PyDict::new(py);
        options.set_item("config", settings)?;
        Ok(((), options))
    }

    fn __repr__(&self) -> String {
        format!("<Client {:?} at {}>", self.defaults.client.client_id, self.address())
    }
}

fn connect(py: Python<'_>, settings: &ClientSettings) -> PyResult<client::Client> {
    let config = ClientConfig { signals: Some(&Interpreter), ..settings.client.clone() };
    py.detach(|| client::Client::connect(config)).map_err(|error| raised(py, error))
}

/// Returns true if `config={...}` contains the bootstrap addresses.
fn names_servers(options: &Bound<'_, PyDict>) -> PyResult<bool> {
    match options.get_item("config")? {
        Some(config) if !config.is_none() => config.contains("bootstrap.servers"),
        _ => Ok(false),
    }
}
