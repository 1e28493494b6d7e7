//! A group of tasks on one runtime, stopped and awaited together.

use std::future::Future;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A handle of the group that starts tasks; cheap to clone.
#[derive(Clone, Debug)]
pub struct Tasks {
    runtime: Handle,
    running: TaskTracker,
    stopping: CancellationToken,
}

impl Tasks {
    /// An empty group, whose tasks run on `runtime`.
    pub fn on(runtime: Handle) -> Self {
        Self { runtime, running: TaskTracker::new(), stopping: CancellationToken::new() }
    }

    /// Starts a task that is cancelled at its next await point when the group stops.
    pub fn start<F>(&self, work: F) -> AbortHandle
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stopping = self.stopping.clone();
        let work = async move {
            stopping.run_until_cancelled_owned(work).await;
        };
        self.running.spawn_on(work, &self.runtime).abort_handle()
    }

    /// Returns a token that is cancelled with the group, and may be cancelled earlier by itself.
    pub fn token(&self) -> CancellationToken {
        self.stopping.child_token()
    }

    /// Cancels all tasks.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Returns true once the group has been stopped.
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Waits until the group is stopped.
    pub async fn stopped(&self) {
        self.stopping.cancelled().await;
    }

    /// Waits until every task has ended; call it after [`stop`](Self::stop).
    pub async fn ended(&self) {
        self.running.close();
        self.running.wait().await;
    }
}
