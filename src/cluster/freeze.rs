//! Stopping all tasks and timers of a node, as SIGSTOP stops a process.
//!
//! Each runtime of a broker has a single thread for its tasks. A task that blocks that thread stops
//! all other tasks and their timers, and the runtime does not poll its sockets: the kernel accepts
//! connections and bytes, and nobody answers. Threads outside the runtimes wait in their next call
//! of the disk, which a pause stops too.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tokio::runtime::Handle;

/// Runtimes that are stopped until this is dropped.
#[derive(Debug)]
pub(super) struct Frozen {
    release: Arc<Release>,
}

/// The end of a stop.
#[derive(Debug, Default)]
struct Release {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl Frozen {
    /// Stops these runtimes, each of which has a single thread for its tasks. On return, none of
    /// their tasks runs.
    pub(super) fn stop(runtimes: &[Handle]) -> Self {
        let release = Arc::new(Release::default());
        let stop = |runtime: &Handle| {
            let (stopped, arrival) = sync_channel(1);
            let release = Arc::clone(&release);
            drop(runtime.spawn(async move {
                // The receiver waits until this is sent.
                let _ = stopped.send(());
                release.wait();
            }));
            arrival
        };
        let arrivals: Vec<_> = runtimes.iter().map(stop).collect();
        for arrival in arrivals {
            // Fails if the runtime has ended, and its tasks with it.
            let _ = arrival.recv();
        }
        Self { release }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        *self.release.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.release.changed.notify_all();
    }
}

impl Release {
    fn wait(&self) {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(is_over, |is_over| !*is_over);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use tokio::runtime::{Builder, Runtime};
    use tokio::sync::watch;
    use tokio::time::sleep;

    use super::*;

    /// A runtime with a task that counts until the sender is dropped.
    fn counting() -> (Runtime, Arc<AtomicU64>, watch::Receiver<u64>) {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
        let (count, (sender, counted)) = (Arc::new(AtomicU64::new(0)), watch::channel(0));
        let counting = Arc::clone(&count);
        drop(runtime.spawn(async move {
            loop {
                sleep(Duration::from_millis(1)).await;
                let _ = sender.send(counting.fetch_add(1, Ordering::SeqCst) + 1);
            }
        }));
        (runtime, count, counted)
    }

    #[test]
    fn a_stopped_runtime_runs_no_task_and_no_timer_until_it_is_released() {
        let (runtime, count, mut counted) = counting();
        let other = Builder::new_current_thread().enable_time().build().unwrap();
        other.block_on(counted.wait_for(|count| *count > 3)).unwrap();
        let frozen = Frozen::stop(&[runtime.handle().clone()]);
        let before = count.load(Ordering::SeqCst);
        other.block_on(async { sleep(Duration::from_millis(50)).await });
        assert_eq!(count.load(Ordering::SeqCst), before);
        drop(frozen);
        other.block_on(counted.wait_for(|count| *count > before)).unwrap();
    }

    #[test]
    fn a_runtime_that_has_ended_holds_up_nobody() {
        let (runtime, ..) = counting();
        let handle = runtime.handle().clone();
        drop(runtime);
        drop(Frozen::stop(&[handle]));
    }
}
