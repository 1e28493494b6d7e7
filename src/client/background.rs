//! The one thread of a client, on which all of its connections live.
//!
//! All tasks of a client run here. Stopping the client cancels its token, which ends them, and then
//! waits for them. The thread blocks all signals, so that the program's own threads receive them.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::SigSet;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::link::Tasks;

/// The time that stopping waits for tasks which do not return once cancelled.
const STOP_MAX: Duration = Duration::from_secs(1);

/// The client's thread; dropping this stops it.
#[derive(Debug)]
pub(crate) struct Background {
    tasks: Tasks,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Cancelled when the thread has finished.
    ended: CancellationToken,
}

impl Background {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build()?;
        let tasks = Tasks::on(runtime.handle().clone());
        let own = tasks.clone();
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let work = move || {
            run(runtime, &own);
            drop(guard);
        };
        let thread = thread::Builder::new().name("streamlog-client".to_owned()).spawn(work)?;
        Ok(Self { tasks, thread: Mutex::new(Some(thread)), ended })
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
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the client's thread panicked");
        }
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
