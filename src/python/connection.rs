//! The connection of a Python client to a cluster, shared by everything created from the client.

use std::env;
use std::sync::Arc;

use arc_swap::Guard;
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods};
use pyo3::{Bound, PyAny, PyResult, Python};

use super::arguments::{Form, Options, Word};
use super::errors::raised;
use super::logging;
use super::owned::{Birth, Owned, Renewed};
use super::signals::Interpreter;
use crate::client::{Client, ClientConfig, ClientSettings};

const WORDS: &[Word] = &[
    Word { name: "bootstrap", key: "bootstrap.servers", form: Form::List },
    Word::plain("client_id", "client.id"),
    Word::seconds("timeout", "default.api.timeout.ms"),
];

/// The environment variable with the addresses to connect to, used if the program gives none.
const BOOTSTRAP_VARIABLE: &str = "STREAMLOG_BOOTSTRAP";

/// A connected client with its settings.
#[derive(Debug)]
pub(crate) struct Connection {
    client: Renewed<Client>,
    settings: ClientSettings,
}

impl Connection {
    /// Connects to the cluster of `settings`.
    pub(crate) fn open(py: Python<'_>, settings: ClientSettings) -> PyResult<Self> {
        Self::of(py, connect(py, &settings)?, settings)
    }

    /// Wraps a client that was connected with `settings`.
    pub(crate) fn of(py: Python<'_>, client: Client, settings: ClientSettings) -> PyResult<Self> {
        Ok(Self { client: Renewed::new(client, &Birth::now(py)?), settings })
    }

    /// The client; a forked child connects another one.
    pub(crate) fn client(&self, py: Python<'_>) -> PyResult<Guard<Arc<Owned<Client>>>> {
        self.client.get(py, || connect(py, &self.settings))
    }

    /// The client, unless this is a forked child that has not used it.
    pub(crate) fn if_here(&self) -> PyResult<Option<Client>> {
        let Some(current) = self.client.if_here() else { return Ok(None) };
        current.get().cloned().map(Some)
    }

    /// The bootstrap addresses, separated by commas.
    pub(crate) fn address(&self) -> String {
        let servers = self.settings.client.bootstrap.iter();
        servers.map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    /// The client's settings, which are the defaults of its producers and consumers.
    pub(crate) fn settings(&self) -> &ClientSettings {
        &self.settings
    }
}

/// Reads the arguments of `connect`. If they contain no address, the environment variable provides
/// it.
pub(crate) fn read_settings(
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
    let mut settings = ClientSettings::default();
    let options = Options::of(Some(&options))?;
    options.apply(WORDS, &mut |values| settings.set_all(values.iter().copied()))?;
    logging::install(py)?;
    Ok(settings)
}

fn connect(py: Python<'_>, settings: &ClientSettings) -> PyResult<Client> {
    let config = ClientConfig { signals: Some(&Interpreter), ..settings.client.clone() };
    py.detach(|| Client::connect(config)).map_err(|error| raised(py, error))
}

/// Returns true if `config={...}` contains the bootstrap addresses.
fn names_servers(options: &Bound<'_, PyDict>) -> PyResult<bool> {
    match options.get_item("config")? {
        Some(config) if !config.is_none() => config.contains("bootstrap.servers"),
        _ => Ok(false),
    }
}
