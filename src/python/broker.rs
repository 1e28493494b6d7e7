//! The native class `Broker`: a broker inside the program, for tests and embedded use.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pyo3::types::{IntoPyDict, PyAnyMethods, PyDict, PyDictMethods};
use pyo3::{Bound, Py, PyAny, PyErr, PyResult, Python, pyclass, pymethods};

use super::arguments::{Options, Word};
use super::client::Client;
use super::errors::{StreamlogError, refused};
use super::logging;
use super::owned::{Birth, Owned};
use crate::broker::{self, BrokerConfig, BrokerError, Listener};
use crate::python::docstrings::stub;

/// Options whose names differ from the setting's name with underscores for dots.
const WORDS: &[Word] = &[
    Word::plain("listen", "listeners"),
    Word::plain("advertise", "advertised.listeners"),
    Word::plain("data_dir", "log.dirs"),
];

#[doc = stub!("Broker")]
#[pyclass(frozen, weakref, module = "streamlog")]
#[derive(Debug)]
pub(super) struct Broker {
    running: Owned<Arc<Running>>,
    address: SocketAddr,
    at_exit: Py<AtExit>,
}

/// The running broker, shared with the exit handler.
struct Running {
    broker: Mutex<Option<broker::Broker>>,
    /// True if the data directory was created for this broker.
    is_temporary: bool,
    data_dir: PathBuf,
}

/// Stops a broker that still runs at the end of the program; registered with `atexit`.
#[pyclass(frozen, module = "streamlog._core")]
#[derive(Debug)]
struct AtExit {
    running: Owned<Weak<Running>>,
}

impl Broker {
    fn start(py: Python<'_>, config: BrokerConfig, is_temporary: bool) -> PyResult<Self> {
        logging::install(py)?;
        let data_dir = config.engine.data_dir.clone();
        let started = py.detach(|| broker::Broker::start(config));
        let broker = started.map_err(|error| failed(&error)).inspect_err(|_| {
            if is_temporary {
                remove(py, &data_dir);
            }
        })?;
        let address = broker.address();
        let broker = Mutex::new(Some(broker));
        let running = Arc::new(Running { broker, is_temporary, data_dir });
        let birth = Birth::now(py)?;
        let at_exit = AtExit { running: Owned::new(Arc::downgrade(&running), &birth) };
        let at_exit = Py::new(py, at_exit)?;
        py.import("atexit")?.call_method1("register", (&at_exit,))?;
        Ok(Self { running: Owned::new(running, &birth), address, at_exit })
    }

    /// Stops the broker. A second call does nothing.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let running = self.running.get()?;
        py.import("atexit")?.call_method1("unregister", (&self.at_exit,))?;
        running.end(py).map_err(|error| failed(&error))
    }
}

#[pymethods]
impl Broker {
    #[new]
    #[pyo3(
        signature = (data_dir=None, **settings),
        text_signature = "(data_dir=None, *, listen='127.0.0.1:0', advertise=None, config=None, \
                          **settings)"
    )]
    fn new(
        py: Python<'_>,
        data_dir: Option<Bound<'_, PyAny>>,
        settings: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let settings = settings.unwrap_or_else(|| PyDict::new(py));
        if let Some(path) = data_dir {
            settings.set_item("data_dir", py.import("os")?.call_method1("fspath", (path,))?)?;
        }
        let mut config = read_config(&settings)?;
        let is_temporary = config.engine.data_dir == BrokerConfig::default().engine.data_dir;
        if is_temporary {
            config.engine.data_dir = temporary_folder(py)?;
        }
        Self::start(py, config, is_temporary)
    }

    #[doc = stub!("Broker.address")]
    #[getter]
    fn address(&self) -> String {
        self.address.to_string()
    }

    #[doc = stub!("Broker.bootstrap")]
    #[getter]
    fn bootstrap(&self) -> String {
        self.address.to_string()
    }

    #[doc = stub!("Broker.port")]
    #[getter]
    fn port(&self) -> u16 {
        self.address.port()
    }

    #[doc = stub!("Broker.data_dir")]
    #[getter]
    fn data_dir(&self) -> PyResult<&Path> {
        Ok(&self.running.get()?.data_dir)
    }

    #[doc = stub!("Broker.is_running")]
    #[getter]
    fn is_running(&self) -> PyResult<bool> {
        let broker = self.running.get()?.broker();
        Ok(broker.as_ref().is_some_and(|broker| !broker.stopping().is_cancelled()))
    }

    #[doc = stub!("Broker.connect")]
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, client_id='streamlog', timeout=10.0, config=None)"
    )]
    fn connect(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Py<Client>> {
        self.running.get()?;
        let client = py.get_type::<Client>().call((self.address(),), options)?;
        Ok(client.cast_into::<Client>().map_err(PyErr::from)?.unbind())
    }

    #[doc = stub!("Broker.close")]
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py)
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

    fn __repr__(&self) -> String {
        let state = match self.is_running() {
            Ok(true) => "at",
            Ok(false) => "that was at",
            Err(_) => "of the parent process at",
        };
        format!("<Broker {state} {}>", self.address)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // A forked child holds a copy of the handle, but the broker's threads run in the parent.
        if self.running.get().is_ok_and(|running| running.broker().is_some()) {
            Python::attach(|py| {
                if let Err(error) = self.end(py) {
                    error.write_unraisable(py, None);
                }
            });
        }
    }
}

impl Running {
    /// Stops the broker and removes its temporary directory. A second call does nothing.
    fn end(&self, py: Python<'_>) -> Result<(), BrokerError> {
        let Some(broker) = self.broker().take() else { return Ok(()) };
        let stopped = py.detach(|| broker.stop());
        if self.is_temporary {
            remove(py, &self.data_dir);
        }
        stopped
    }

    fn broker(&self) -> MutexGuard<'_, Option<broker::Broker>> {
        self.broker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("data_dir", &self.data_dir).finish_non_exhaustive()
    }
}

#[pymethods]
impl AtExit {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let Some(running) = self.running.get().ok().and_then(Weak::upgrade) else { return Ok(()) };
        running.end(py).map_err(|error| failed(&error))
    }
}

/// Applies the given settings over the defaults of a standalone broker on a free port.
fn read_config(settings: &Bound<'_, PyDict>) -> PyResult<BrokerConfig> {
    let listeners = Listener::alone("127.0.0.1", 0);
    let mut config = BrokerConfig { listeners, ..BrokerConfig::default() };
    let options = Options::of(Some(settings))?;
    options.apply_dotting(WORDS, &mut |values| config.set(values.iter().copied()))?;
    Ok(config)
}

fn temporary_folder(py: Python<'_>) -> PyResult<PathBuf> {
    let options = [("prefix", "streamlog-")].into_py_dict(py)?;
    py.import("tempfile")?.call_method("mkdtemp", (), Some(&options))?.extract()
}

/// Removes a temporary directory; a failure is only reported, as the system cleans such places.
fn remove(py: Python<'_>, folder: &Path) {
    let removed = py.import("shutil").and_then(|shutil| shutil.call_method1("rmtree", (folder,)));
    if let Err(error) = removed {
        error.write_unraisable(py, None);
    }
}

/// The error followed by its causes.
fn failed(error: &BrokerError) -> PyErr {
    if let BrokerError::Config(faults) = error {
        return refused(faults);
    }
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    StreamlogError::new_err(text)
}
