//! The state of a `Broker`: one broker or a cluster, until it is closed.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::types::PyAnyMethods;
use pyo3::{PyErr, PyResult, Python};

use crate::broker::{self, BrokerError};
use crate::cluster::{ClusterError, LocalCluster};
use crate::python::errors::{RequestTimeout, StreamlogError, TopicNotFound, refused};

/// The running brokers, shared with the exit handler and the nodes.
pub(crate) struct Running {
    brokers: Mutex<Option<Brokers>>,
    /// The data directory; `None` if records are in memory.
    data_dir: Option<PathBuf>,
    /// True if the data directory was created for this broker.
    is_temporary: bool,
}

/// The parts of a `Broker`.
enum Brokers {
    One(Box<broker::Broker>),
    Several(Arc<LocalCluster>),
}

impl Running {
    /// A single broker, whose data directory is temporary if it was created for this broker.
    pub(super) fn single(broker: broker::Broker, data_dir: PathBuf, is_temporary: bool) -> Self {
        let brokers = Mutex::new(Some(Brokers::One(Box::new(broker))));
        Self { brokers, data_dir: Some(data_dir), is_temporary }
    }

    /// A cluster.
    pub(super) fn cluster(cluster: LocalCluster) -> Self {
        let brokers = Mutex::new(Some(Brokers::Several(Arc::new(cluster))));
        Self { brokers, data_dir: None, is_temporary: false }
    }

    /// The data directory; `None` if it is a cluster.
    pub(super) fn data_dir(&self) -> Option<&Path> {
        self.data_dir.as_deref()
    }

    /// Returns true until it is closed.
    pub(super) fn is_open(&self) -> bool {
        self.brokers().is_some()
    }

    /// Returns true if it is neither closed nor a single broker that has stopped by itself.
    pub(super) fn is_running(&self) -> bool {
        match &*self.brokers() {
            None => false,
            Some(Brokers::One(broker)) => !broker.stopping().is_cancelled(),
            Some(Brokers::Several(_)) => true,
        }
    }

    /// Stops the brokers and removes a temporary directory. A second call does nothing.
    pub(super) fn end(&self, py: Python<'_>) -> Result<(), BrokerError> {
        let Some(brokers) = self.brokers().take() else { return Ok(()) };
        let stopped = py.detach(|| match brokers {
            Brokers::One(broker) => broker.stop(),
            // In memory, so that there is nothing to flush. Dropping the last reference ends the
            // nodes; a call in another thread may still have one.
            Brokers::Several(cluster) => {
                drop(cluster);
                Ok(())
            }
        });
        if let Some(data_dir) = self.data_dir.as_deref().filter(|_| self.is_temporary) {
            remove(py, data_dir);
        }
        stopped
    }

    /// Does something with the cluster, without the interpreter.
    pub(super) fn act<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&LocalCluster) -> Result<T, ClusterError> + Send,
    ) -> PyResult<T> {
        let cluster = match &*self.brokers() {
            Some(Brokers::Several(cluster)) => Arc::clone(cluster),
            Some(Brokers::One(_)) => {
                return Err(StreamlogError::new_err(
                    "this broker has no nodes: Broker(nodes=3) starts a cluster",
                ));
            }
            None => return Err(closed()),
        };
        // The closure owns the reference: if it is the last, dropping it waits for threads.
        py.detach(move || act(&cluster)).map_err(raised)
    }

    fn brokers(&self) -> MutexGuard<'_, Option<Brokers>> {
        self.brokers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("data_dir", &self.data_dir).finish_non_exhaustive()
    }
}

/// Removes a temporary directory. A failure is only reported, since systems clean their temporary
/// folders.
pub(super) fn remove(py: Python<'_>, folder: &Path) {
    let removed = py.import("shutil").and_then(|shutil| shutil.call_method1("rmtree", (folder,)));
    if let Err(error) = removed {
        error.write_unraisable(py, None);
    }
}

/// The exception of a broker that was closed.
pub(super) fn closed() -> PyErr {
    StreamlogError::new_err("the broker is closed")
}

/// The exception for an error of a broker.
pub(super) fn failed(error: &BrokerError) -> PyErr {
    if let BrokerError::Config(faults) = error {
        return refused(faults);
    }
    StreamlogError::new_err(with_causes(error))
}

/// The text of an error followed by its causes.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (**cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// The exception for an error of a cluster.
pub(super) fn raised(error: ClusterError) -> PyErr {
    let text = with_causes(&error);
    match error {
        ClusterError::Config(faults) => refused(&faults),
        ClusterError::NotInSync { within, .. } => {
            let cause = None::<String>;
            RequestTimeout::new_err((text, "waiting until in sync", within.as_secs_f64(), cause))
        }
        ClusterError::NoSuchPartition { topic, .. } => {
            TopicNotFound::new_err((text, topic, None::<String>))
        }
        _ => StreamlogError::new_err(text),
    }
}
