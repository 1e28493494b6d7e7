//! The native class `Broker`: one broker inside the program, for tests and embedded use, or several
//! as a cluster.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use pyo3::types::{IntoPyDict, PyAnyMethods, PyDict, PyDictMethods, PyTuple};
use pyo3::{Bound, Py, PyAny, PyErr, PyResult, Python, pyclass, pymethods};

use super::node::{IN_SYNC_WITHIN, Node, end, wait_in_sync};
use super::running::{Running, failed, raised, remove};
use crate::broker::{self, BrokerConfig, Listener};
use crate::cluster::{ClusterError, LocalCluster};
use crate::python::arguments::{Options, Word, max_wait, value};
use crate::python::client::Client;
use crate::python::docstrings::stub;
use crate::python::dropping::while_dropped;
use crate::python::errors::StreamlogError;
use crate::python::logging;
use crate::python::owned::{Birth, Owned};

/// Options whose name is not simply the setting's name with underscores for dots.
const WORDS: &[Word] = &[
    Word::plain("listen", "listeners"),
    Word::plain("advertise", "advertised.listeners"),
    Word::plain("data_dir", "log.dirs"),
];

#[doc = stub!("Broker")]
#[pyclass(frozen, weakref, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Broker {
    running: Owned<Arc<Running>>,
    /// The address of each node.
    addresses: Vec<SocketAddr>,
    at_exit: Py<AtExit>,
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
        Self::of(py, Running::single(broker, data_dir, is_temporary), vec![address])
    }

    /// Starts several nodes, whose records are in memory.
    fn start_nodes(py: Python<'_>, nodes: usize, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        logging::install(py)?;
        let mut rows = Vec::new();
        Options::of(Some(settings))?.apply_dotting(WORDS, &mut |values| {
            rows = values.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
            LocalCluster::check(values)
        })?;
        let started = py.detach(|| {
            let rows: Vec<_> = rows.iter().map(|(key, value)| (&**key, &**value)).collect();
            let cluster = LocalCluster::start_with(nodes, &rows)?;
            let addresses = (0..nodes).map(|node| cluster.address(node));
            let addresses = addresses.collect::<Result<Vec<_>, _>>()?;
            Ok((cluster, addresses))
        });
        let (cluster, addresses) = started.map_err(raised)?;
        Self::of(py, Running::cluster(cluster), addresses)
    }

    fn of(py: Python<'_>, running: Running, addresses: Vec<SocketAddr>) -> PyResult<Self> {
        let running = Arc::new(running);
        let birth = Birth::now(py)?;
        let at_exit = AtExit { running: Owned::new(Arc::downgrade(&running), &birth) };
        let at_exit = Py::new(py, at_exit)?;
        py.import("atexit")?.call_method1("register", (&at_exit,))?;
        Ok(Self { running: Owned::new(running, &birth), addresses, at_exit })
    }

    /// The address of the first node.
    fn first(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// The addresses of all nodes.
    fn all(&self) -> String {
        self.addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",")
    }

    /// Does something with the cluster, without the interpreter.
    fn act<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&LocalCluster) -> Result<T, ClusterError> + Send,
    ) -> PyResult<T> {
        self.running.get()?.act(py, act)
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
        signature = (data_dir=None, *, nodes=None, **settings),
        text_signature = "(data_dir=None, *, nodes=None, listen='127.0.0.1:0', advertise=None, \
                          config=None, **settings)"
    )]
    fn new(
        py: Python<'_>,
        data_dir: Option<Bound<'_, PyAny>>,
        nodes: Option<Bound<'_, PyAny>>,
        settings: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let settings = settings.unwrap_or_else(|| PyDict::new(py));
        if let Some(path) = data_dir {
            settings.set_item("data_dir", py.import("os")?.call_method1("fspath", (path,))?)?;
        }
        if let Some(nodes) = nodes {
            return Self::start_nodes(py, value("nodes", &nodes)?, &settings);
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
        self.first().to_string()
    }

    #[doc = stub!("Broker.bootstrap")]
    #[getter]
    fn bootstrap(&self) -> String {
        self.all()
    }

    #[doc = stub!("Broker.port")]
    #[getter]
    fn port(&self) -> u16 {
        self.first().port()
    }

    #[doc = stub!("Broker.data_dir")]
    #[getter]
    fn data_dir(&self) -> PyResult<&Path> {
        let in_memory = || StreamlogError::new_err("the records of a cluster are in memory");
        self.running.get()?.data_dir().ok_or_else(in_memory)
    }

    #[doc = stub!("Broker.is_running")]
    #[getter]
    fn is_running(&self) -> PyResult<bool> {
        Ok(self.running.get()?.is_running())
    }

    #[doc = stub!("Broker.nodes")]
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let running = self.running.get()?;
        let mut nodes = Vec::new();
        if running.data_dir().is_none() {
            for (number, address) in self.addresses.iter().enumerate() {
                let node = Node::new(running, self.running.birth(), number, *address);
                nodes.push(Py::new(py, node)?);
            }
        }
        PyTuple::new(py, nodes)
    }

    #[doc = stub!("Broker.cut")]
    #[pyo3(signature = (a, b, *, one_way=false))]
    fn cut(
        &self,
        py: Python<'_>,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        one_way: bool,
    ) -> PyResult<()> {
        let (a, b) = (end("a", a)?, end("b", b)?);
        self.act(py, |cluster| cluster.cut(a, b, one_way))
    }

    #[doc = stub!("Broker.delay")]
    fn delay(
        &self,
        py: Python<'_>,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        ms: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (a, b, delay) = (end("a", a)?, end("b", b)?, max_wait("ms", ms)? / 1000);
        self.act(py, |cluster| cluster.delay(a, b, delay))
    }

    #[doc = stub!("Broker.heal")]
    fn heal(&self, py: Python<'_>) -> PyResult<()> {
        self.act(py, |cluster| {
            cluster.heal();
            Ok(())
        })
    }

    #[doc = stub!("Broker.expire")]
    fn expire(&self, py: Python<'_>, node: &Bound<'_, PyAny>) -> PyResult<()> {
        let node = value("node", node)?;
        self.act(py, |cluster| cluster.expire(node))
    }

    #[doc = stub!("Broker.lose_power")]
    fn lose_power(&self, py: Python<'_>, node: &Bound<'_, PyAny>) -> PyResult<()> {
        let node = value("node", node)?;
        self.act(py, |cluster| cluster.lose_power(node))
    }

    #[doc = stub!("Broker.lose_store")]
    fn lose_store(&self, py: Python<'_>, seconds: &Bound<'_, PyAny>) -> PyResult<()> {
        let duration = max_wait("seconds", seconds)?;
        self.act(py, |cluster| {
            cluster.lose_store(duration);
            Ok(())
        })
    }

    #[doc = stub!("Broker.wait_in_sync")]
    #[pyo3(signature = (timeout=None), text_signature = "($self, timeout=30.0)")]
    fn wait_in_sync(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let within = timeout.map(|given| max_wait("timeout", given)).transpose()?;
        wait_in_sync(py, self.running.get()?, within.unwrap_or(IN_SYNC_WITHIN))
    }

    #[doc = stub!("Broker.leader")]
    #[pyo3(signature = (topic, partition=None), text_signature = "($self, topic, partition=0)")]
    fn leader(
        &self,
        py: Python<'_>,
        topic: &Bound<'_, PyAny>,
        partition: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<usize>> {
        let topic: String = value("topic", topic)?;
        let partition = partition.map(|given| value("partition", given)).transpose()?;
        self.act(py, |cluster| cluster.leader(&topic, partition.unwrap_or(0)))
    }

    #[doc = stub!("Broker.connect")]
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, client_id='streamlog', timeout=10.0, config=None)"
    )]
    fn connect(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Py<Client>> {
        self.running.get()?;
        let client = py.get_type::<Client>().call((self.all(),), options)?;
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
        format!("<Broker {state} {}>", self.all())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // A forked child holds a copy of the handle, but the broker's threads run in the parent.
        if self.running.get().is_ok_and(|running| running.is_open()) {
            while_dropped(|py| {
                if let Err(error) = self.end(py) {
                    error.write_unraisable(py, None);
                }
            });
        }
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
