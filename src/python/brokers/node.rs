//! The native class `Node`: one broker of a cluster in this process, to be stopped or paused.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use pyo3::types::{PyAnyMethods, PyString, PyStringMethods};
use pyo3::{Bound, PyAny, PyResult, Python, pyclass, pymethods};

use super::running::{Running, closed, raised};
use crate::cluster::{ClusterError, End, LocalCluster};
use crate::python::arguments::{max_wait, misfit};
use crate::python::docstrings::stub;
use crate::python::owned::{Birth, Owned};

/// The name of the clients as an end of connections.
const CLIENTS: &str = "clients";

/// The longest wait until a cluster is in sync, by default.
pub(super) const IN_SYNC_WITHIN: Duration = Duration::from_secs(30);

/// The time between two looks at signals.
const SLICE: Duration = Duration::from_millis(100);

#[doc = stub!("Node")]
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Node {
    running: Owned<Weak<Running>>,
    number: usize,
    address: SocketAddr,
}

impl Node {
    pub(super) fn new(
        running: &Arc<Running>,
        birth: &Birth,
        number: usize,
        address: SocketAddr,
    ) -> Self {
        Self { running: Owned::new(Arc::downgrade(running), birth), number, address }
    }

    /// Does something to the node, without the interpreter.
    fn act<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&LocalCluster, usize) -> Result<T, ClusterError> + Send,
    ) -> PyResult<T> {
        let running = self.running.get()?.upgrade().ok_or_else(closed)?;
        running.act(py, |cluster| act(cluster, self.number))
    }
}

#[pymethods]
impl Node {
    #[doc = stub!("Node.number")]
    #[getter]
    fn number(&self) -> usize {
        self.number
    }

    #[doc = stub!("Node.address")]
    #[getter]
    fn address(&self) -> String {
        self.address.to_string()
    }

    #[doc = stub!("Node.is_running")]
    #[getter]
    fn is_running(&self, py: Python<'_>) -> PyResult<bool> {
        self.act(py, LocalCluster::is_running)
    }

    #[doc = stub!("Node.failure")]
    #[getter]
    fn failure(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.act(py, LocalCluster::failure)
    }

    #[doc = stub!("Node.start")]
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        // Not inside `start_node`, which no signal ends.
        while !self.act(py, |cluster, _| Ok(cluster.wait_for_store(SLICE)))? {
            py.check_signals()?;
        }
        self.act(py, LocalCluster::start_node)
    }

    #[doc = stub!("Node.stop")]
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        self.act(py, LocalCluster::stop)
    }

    #[doc = stub!("Node.kill")]
    fn kill(&self, py: Python<'_>) -> PyResult<()> {
        self.act(py, LocalCluster::kill)
    }

    #[doc = stub!("Node.pause")]
    fn pause(&self, py: Python<'_>, seconds: &Bound<'_, PyAny>) -> PyResult<()> {
        let duration = max_wait("seconds", seconds)?;
        self.act(py, |cluster, node| cluster.pause(node, duration))
    }

    #[doc = stub!("Node.resume")]
    fn resume(&self, py: Python<'_>) -> PyResult<()> {
        self.act(py, LocalCluster::resume)
    }

    fn __repr__(&self) -> String {
        format!("<Node {} at {}>", self.number, self.address)
    }
}

/// Converts the argument `name` to an end of connections.
pub(super) fn end(name: &str, given: &Bound<'_, PyAny>) -> PyResult<End> {
    if let Ok(text) = given.cast::<PyString>()
        && text.to_cow()? == CLIENTS
    {
        return Ok(End::Clients);
    }
    let number = given.extract::<usize>();
    number.map(End::Node).map_err(|_| misfit(name, given, "the number of a node, or 'clients'"))
}

/// Waits until a cluster is in sync, unless a signal handler raises, or the cluster is closed,
/// before.
pub(super) fn wait_in_sync(py: Python<'_>, running: &Running, within: Duration) -> PyResult<()> {
    #[expect(clippy::disallowed_methods, reason = "the clock of the interpreter's waits")]
    let begin = Instant::now();
    loop {
        let left = within.saturating_sub(begin.elapsed());
        let lacking = running.act(py, |cluster| match cluster.wait_in_sync(left.min(SLICE)) {
            Err(ClusterError::NotInSync { lacking, .. }) => Ok(Some(lacking)),
            waited => waited.map(|()| None),
        })?;
        let Some(lacking) = lacking else { return Ok(()) };
        if left <= SLICE {
            return Err(raised(ClusterError::NotInSync { within, lacking }));
        }
        py.check_signals()?;
    }
}
