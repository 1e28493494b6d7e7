//! The one thread of a client, on which all of its connections live.
//!
//! Tasks are born here and end by the token when the client stops; stopping waits for them. The
//! thread takes no signals, so that they reach the threads of the program.

use std::future::Future;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::SigSet;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long stopping waits for tasks that do not look at the token.
const STOP_MAX: Duration = Duration::from_secs(1);

/// Where tasks of a client are started; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Tasks {
    runtime: Handle,
    running: TaskTracker,
    stopping: CancellationToken,
}

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Background {
    tasks: Tasks,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Cancelled when the thread is done with its work.
    ended: CancellationToken,
}

impl Tasks {
    /// Starts a task that ends, wherever it waits, when the client stops.
    pub(crate) fn start<F>(&self, work: F) -> AbortHandle
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stopping = self.stopping.clone();
        let work = async move {
            stopping.run_until_cancelled_owned(work).await;
        };
        self.running.spawn_on(work, &self.runtime).abort_handle()
    }

    /// A token that is cancelled with the client, and can be before.
    pub(crate) fn token(&self) -> CancellationToken {
        self.stopping.child_token()
    }

    /// Whether the client has been stopped.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }
}

impl Background {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build()?;
        let tasks = Tasks {
            runtime: runtime.handle().clone(),
            running: TaskTracker::new(),
            stopping: CancellationToken::new(),
        };
        let (running, stopping) = (tasks.running.clone(), tasks.stopping.clone());
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let work = move || {
            run(runtime, &running, &stopping);
            drop(guard);
        };
        let thread = thread::Builder::new().name("streamlog-client".to_owned()).spawn(work)?;
        Ok(Self { tasks, thread: Mutex::new(Some(thread)), ended })
    }

    /// Where to start tasks.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// [`stop`](Self::stop) as a future.
    pub(crate) async fn stopping(&self) {
        self.tasks.stopping.cancel();
        self.ended.cancelled().await;
        self.stop();
    }

    /// Ends all tasks and the thread. Doing it again does nothing.
    pub(crate) fn stop(&self) {
        self.tasks.stopping.cancel();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the client's thread ended by a panic");
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(runtime: Runtime, running: &TaskTracker, stopping: &CancellationToken) {
    if let Err(error) = SigSet::all().thread_block() {
        tracing::warn!(%error, "the client's thread takes signals");
    }
    runtime.block_on(async {
        stopping.cancelled().await;
        running.close();
        if tokio::time::timeout(STOP_MAX, running.wait()).await.is_err() {
            tracing::warn!("tasks of the client were cut off");
        }
    });
    runtime.shutdown_background();
}
