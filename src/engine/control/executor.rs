//! The executor of the tasks of an engine: threads, or a simulation in a single one.

use std::future::Future;
#[cfg(feature = "internals")]
use std::pin::Pin;
#[cfg(feature = "internals")]
use std::sync::Arc;

use tokio::runtime::Handle;
#[cfg(feature = "internals")]
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle};

/// The executor of the tasks of an engine.
#[derive(Clone)]
pub(crate) enum Executor {
    /// A thread for tasks, and a pool beside it for calls that block.
    Threads(Handle),
    /// A simulation, which chooses the order of everything that happens.
    #[cfg(feature = "internals")]
    Simulated {
        /// Runs the tasks.
        scheduler: Arc<dyn Scheduler>,
        /// The runtime of the simulation's thread.
        runtime: Handle,
    },
}

/// Runs the tasks of an engine in a simulation.
#[cfg(feature = "internals")]
pub trait Scheduler: Send + Sync {
    /// Starts a task.
    fn start(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>);

    /// Does a piece of work that may block on a disk.
    fn block(&self, work: Box<dyn FnOnce() + Send>);
}

/// Work that has been started.
pub(in crate::engine) enum Started<T> {
    /// On a thread.
    Joined(JoinHandle<T>),
    /// In a simulation.
    #[cfg(feature = "internals")]
    Simulated(oneshot::Receiver<T>),
}

/// Work has ended without a result: it has panicked, or its runtime has ended.
#[derive(Debug, thiserror::Error)]
#[error("the work was not completed")]
pub(in crate::engine) struct Lost(#[source] pub(in crate::engine) Option<JoinError>);

impl Executor {
    /// Starts `work`.
    pub(in crate::engine) fn spawn<F>(&self, work: F) -> Started<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        match self {
            Self::Threads(runtime) => Started::Joined(runtime.spawn(work)),
            #[cfg(feature = "internals")]
            Self::Simulated { scheduler, .. } => {
                let (done, result) = oneshot::channel();
                scheduler.start(Box::pin(async move {
                    // The caller may have been dropped.
                    let _ = done.send(work.await);
                }));
                Started::Simulated(result)
            }
        }
    }

    /// Starts `work`, which may block on a disk.
    pub(in crate::engine) fn spawn_blocking<T, F>(&self, work: F) -> Started<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        match self {
            Self::Threads(runtime) => Started::Joined(runtime.spawn_blocking(work)),
            #[cfg(feature = "internals")]
            Self::Simulated { scheduler, .. } => {
                let (done, result) = oneshot::channel();
                scheduler.block(Box::new(move || {
                    let _ = done.send(work());
                }));
                Started::Simulated(result)
            }
        }
    }

    /// The runtime of the thread for tasks.
    pub(crate) fn runtime(&self) -> &Handle {
        match self {
            Self::Threads(runtime) => runtime,
            #[cfg(feature = "internals")]
            Self::Simulated { runtime, .. } => runtime,
        }
    }

    /// Returns true if there are threads, also for the work of the disk.
    pub(in crate::engine) fn has_threads(&self) -> bool {
        matches!(self, Self::Threads(_))
    }
}

impl<T> Started<T> {
    /// Waits for the end of the work.
    pub(in crate::engine) async fn ended(self) -> Result<T, Lost> {
        match self {
            Self::Joined(task) => task.await.map_err(|error| Lost(Some(error))),
            #[cfg(feature = "internals")]
            Self::Simulated(result) => result.await.map_err(|_| Lost(None)),
        }
    }
}
