//! The single background thread of a client, which serves all of its connections.
//!
//! All tasks of a client run on this thread. Stopping the client cancels its token, which ends the
//! tasks, and then waits for the tasks. The thread blocks all signals, so that the program's own
//! threads receive them.

use std::io;
use std::time::Duration;

use nix::sys::signal::SigSet;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::io::Worker;
use crate::link::Tasks;

/// The longest time that stopping waits for cancelled tasks to return.
const STOP_MAX: Duration = Duration::from_secs(1);

/// The client's thread; dropping this stops it.
#[derive(Debug)]
pub(crate) struct Background {
    tasks: Tasks,
    thread: Worker,
    /// Cancelled when the thread has finished.
    ended: CancellationToken,
}

impl Background {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        Self::start_with(run)
    }

    fn start_with(work: impl FnOnce(Runtime, &Tasks) + Send + 'static) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build()?;
        let tasks = Tasks::on(runtime.handle().clone(), || {
            tracing::error!(
                "a task of a client has panicked, so the client is closed; create another client"
            );
        });
        let (own, lost) = (tasks.clone(), tasks.clone());
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let on_panic = move |name: &str| {
            tracing::error!(
                "the thread '{name}' has panicked, so its client is closed; create another client"
            );
            // The callers of a client without a thread get an error instead of waiting for ever.
            lost.stop();
        };
        let work = move || {
            work(runtime, &own);
            drop(guard);
        };
        let thread = Worker::start("streamlog-client", on_panic, work)?;
        Ok(Self { tasks, thread, ended })
    }

    /// The handle that starts tasks.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// [`stop`](Self::stop) as a future.
    pub(crate) async fn stopping(&self) {
        self.tasks.stop();
        self.ended.cancelled().await;
        self.stop();
    }

    /// Ends all tasks and the thread. A second call does nothing.
    pub(crate) fn stop(&self) {
        self.tasks.stop();
        self.thread.join();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(runtime: Runtime, tasks: &Tasks) {
    if let Err(error) = SigSet::all().thread_block() {
        tracing::warn!(%error, "the client's thread could not block signals");
    }
    runtime.block_on(async {
        tasks.stopped().await;
        if tokio::time::timeout(STOP_MAX, tasks.ended()).await.is_err() {
            tracing::warn!("tasks of the client were aborted");
        }
    });
    runtime.shutdown_background();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest wait for a thread.
    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn a_client_is_closed_once_its_thread_has_panicked() {
        let background = Background::start_with(|_, _| panic!("broken by the test")).unwrap();
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let stopped = async { tokio::time::timeout(PATIENCE, background.tasks().stopped()).await };
        runtime.block_on(stopped).expect("a client without a thread accepts calls");
        runtime.block_on(background.stopping());
    }
}
