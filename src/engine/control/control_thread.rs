//! The thread for metadata and groups, and a pool for slow calls.
//!
//! Metadata and groups have a thread of their own, so that neither load on the shards nor a slow
//! disk delays a heartbeat. Calls that block on a disk, such as opening a log or a cold read, or
//! that take long, go to a small pool beside the thread.

use std::future::Future;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};

use crate::engine::Failure;
use crate::engine::control::executor::{Executor, Lost, Started};
use crate::io::FileRange;
use crate::replication::{Partition, ReadRequest};
use crate::types::Offset;

/// The number of pieces of slow work of the shards, such as cold reads, that run in parallel.
pub(crate) const SLOW_THREADS: usize = 4;

/// The handle by which the shards submit work to the control thread and its pool.
#[derive(Clone)]
pub(crate) struct Control {
    executor: Executor,
    /// The number of tasks that have not ended.
    running: Arc<watch::Sender<usize>>,
    slow_work: Arc<Semaphore>,
    failure: Arc<Failure>,
}

/// The broker is stopping, or the work panicked.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the broker stops")]
pub(crate) struct Unavailable;

impl Control {
    /// Creates the control of what runs the tasks. Work that panics is reported to `failure`.
    pub(crate) fn new(executor: Executor, failure: Arc<Failure>) -> Self {
        let slow_work = Arc::new(Semaphore::new(SLOW_THREADS));
        Self { executor, running: Arc::default(), slow_work, failure }
    }

    /// Runs `work` on the control thread and waits for it. The work is completed even if the caller
    /// is dropped.
    pub(crate) async fn run<F>(&self, work: F) -> Result<F::Output, Unavailable>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.spawn(work).ended().await.map_err(|lost| self.ended(&lost))
    }

    /// Starts `work` on the control thread.
    pub(crate) fn start<F>(&self, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let started = self.spawn(work);
        let failure = Arc::clone(&self.failure);
        let watch = async move {
            if let Err(Lost(Some(error))) = started.ended().await {
                failure.notice(&error);
            }
        };
        drop(self.spawn(watch));
    }

    /// Runs `work`, which may block on a disk, on the pool and waits for it.
    pub(crate) async fn run_blocking<T, F>(&self, work: F) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let task = Task::count(&self.running);
        let started = self.executor.spawn_blocking(move || {
            let _task = task;
            work()
        });
        started.ended().await.map_err(|lost| self.ended(&lost))
    }

    /// The runtime of the control thread.
    pub(crate) fn runtime(&self) -> &Handle {
        self.executor.runtime()
    }

    fn spawn<F>(&self, work: F) -> Started<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let task = Task::count(&self.running);
        self.executor.spawn(async move {
            let _task = task;
            work.await
        })
    }

    fn ended(&self, Lost(error): &Lost) -> Unavailable {
        if let Some(error) = error {
            self.failure.notice(error);
        }
        Unavailable
    }

    /// Reads and verifies ranges of partitions; afterwards each is known to be sound or damaged,
    /// unless its read failed.
    pub(crate) async fn verify(&self, unverified: Vec<(Arc<Partition>, ReadRequest)>) {
        let read = self.run_slow(move || {
            for (partition, request) in unverified {
                // Drop the error: the request that reads this range again gets it.
                if let Err(error) = partition.verify(request) {
                    tracing::debug!(partition = %partition.id(), %error, "a read that checks");
                }
            }
        });
        let _: Result<(), Unavailable> = read.await;
    }

    /// Begins to read partitions ahead, from these offsets on.
    pub(crate) fn read_ahead(&self, wanted: Vec<(Arc<Partition>, Offset)>) {
        let control = self.clone();
        self.start(async move {
            let read = control.run_slow(move || {
                for (partition, from) in wanted {
                    partition.read_ahead(from);
                }
            });
            let _: Result<(), Unavailable> = read.await;
        });
    }

    /// Reads a range that is about to be sent, and verifies it.
    pub(crate) async fn load(&self, range: FileRange) -> io::Result<Bytes> {
        let read = self.run_slow(move || {
            let mut bytes = vec![0; usize::try_from(range.length).unwrap_or(usize::MAX)];
            range.file.read_checked(&mut bytes, range.position).map(|()| bytes.into())
        });
        read.await.unwrap_or_else(|stopping| Err(io::Error::other(stopping)))
    }

    /// Runs work of a shard that may wait for the disk, or takes long, on the pool, and waits for
    /// it. A limit on such work keeps the rest of the pool free.
    pub(crate) async fn run_slow<T, F>(&self, work: F) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        // Fails only if the semaphore is closed, which never happens.
        let turn = Arc::clone(&self.slow_work).acquire_owned().await;
        let done = self.run_blocking(move || {
            let _turn = turn;
            work()
        });
        done.await
    }

    /// True while slow work of connections is running.
    pub(crate) fn is_busy(&self) -> bool {
        self.slow_work.available_permits() < SLOW_THREADS
    }

    /// Waits until all work has ended, including work that is started meanwhile.
    pub(crate) async fn finish(&self) {
        let mut running = self.running.subscribe();
        // Fails only if the sender is gone, and `self` holds it.
        let _ = running.wait_for(|count| *count == 0).await;
    }
}

/// A running task, counted for [`Control::finish`] until it is dropped.
struct Task(Arc<watch::Sender<usize>>);

impl Task {
    fn count(running: &Arc<watch::Sender<usize>>) -> Self {
        running.send_modify(|count| *count += 1);
        Self(Arc::clone(running))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::{Builder, Runtime};

    use super::*;

    #[test]
    fn work_that_panics_stops_the_broker() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let failed = |work: fn(&Runtime, &Control)| {
            let failure = Arc::new(Failure::default());
            let executor = Executor::Threads(runtime.handle().clone());
            work(&runtime, &Control::new(executor, Arc::clone(&failure)));
            runtime.block_on(failure.stopping.cancelled());
            assert!(failure.reason().unwrap().contains("broken by the test"));
        };
        failed(|runtime, control| {
            let work = control.run(async { panic!("broken by the test") });
            let _: Unavailable = runtime.block_on(work).unwrap_err();
        });
        failed(|runtime, control| {
            let work = control.run_blocking(|| panic!("broken by the test"));
            let _: Unavailable = runtime.block_on(work).unwrap_err();
        });
        failed(|_, control| control.start(async { panic!("broken by the test") }));
    }

    #[test]
    fn finish_waits_for_work_that_work_has_started() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let executor = Executor::Threads(runtime.handle().clone());
        let control = Control::new(executor, Arc::new(Failure::default()));
        let (release, released) = std::sync::mpsc::sync_channel::<()>(1);
        let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (inner, flag) = (control.clone(), Arc::clone(&done));
        control.start(async move {
            let reached = inner.run_blocking(move || released.recv().is_ok()).await;
            flag.store(reached.unwrap(), std::sync::atomic::Ordering::SeqCst);
        });
        let finished = runtime.spawn({
            let control = control.clone();
            async move { control.finish().await }
        });
        assert!(!finished.is_finished(), "the work waits for its release");
        release.send(()).unwrap();
        runtime.block_on(finished).unwrap();
        assert!(done.load(std::sync::atomic::Ordering::SeqCst));
        runtime.block_on(control.finish());
    }
}
