//! Work that is not on the way of records: metadata, groups, opening of logs.
//!
//! It has a thread of its own, so that neither load on the shards nor a slow disk delays a
//! heartbeat. Calls that wait for a disk go to a small pool beside it.

use std::future::Future;

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// Where the shards send such work.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    runtime: Handle,
    tasks: TaskTracker,
}

/// The broker stops, or the work failed with a panic.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the broker stops")]
pub(crate) struct Unavailable;

impl Control {
    /// Control over the runtime of `handle`.
    pub(crate) fn new(runtime: Handle) -> Self {
        Self { runtime, tasks: TaskTracker::new() }
    }

    /// Runs `work` on the control thread and waits for it. It is finished even if the caller goes.
    pub(crate) async fn run<F>(&self, work: F) -> Result<F::Output, Unavailable>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.tasks.spawn_on(work, &self.runtime).await.map_err(|_| Unavailable)
    }

    /// Starts `work` on the control thread.
    pub(crate) fn start<F>(&self, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn_on(work, &self.runtime);
    }

    /// Runs `work`, which may wait for a disk, on the pool and waits for it.
    pub(crate) async fn run_blocking<T, F>(&self, work: F) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        self.tasks.spawn_blocking_on(work, &self.runtime).await.map_err(|_| Unavailable)
    }

    /// Waits until all work has ended; nothing new is taken up afterwards.
    pub(crate) async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
