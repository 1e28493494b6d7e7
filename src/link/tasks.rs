//! A group of tasks on one runtime, stopped and awaited together.
//!
//! A panic ends only its task, whose callers would wait for ever. So a panic is reported and stops
//! the group.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::io::PanicReport;

/// A handle of the group that starts tasks; cheap to clone.
#[derive(Clone)]
pub struct Tasks {
    runtime: Handle,
    running: TaskTracker,
    stopping: CancellationToken,
    on_panic: Arc<dyn Fn() + Send + Sync>,
}

impl Tasks {
    /// An empty group, whose tasks run on `runtime`. If one panics, the group stops and calls
    /// `on_panic`.
    pub fn on(runtime: Handle, on_panic: impl Fn() + Send + Sync + 'static) -> Self {
        let (running, stopping) = (TaskTracker::new(), CancellationToken::new());
        Self { runtime, running, stopping, on_panic: Arc::new(on_panic) }
    }

    /// Starts a task that is cancelled at its next await point when the group stops.
    pub fn start<F>(&self, work: F) -> AbortHandle
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let group = self.clone();
        let work = async move {
            let on_panic = |_: &str| {
                group.stop();
                (group.on_panic)();
            };
            let _report = PanicReport { on_panic };
            group.stopping.run_until_cancelled(work).await;
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

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("running", &self.running).finish_non_exhaustive()
    }
}
