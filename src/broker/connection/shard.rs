//! A thread that serves the connections assigned to it for their lifetime.

use std::io;
use std::sync::Arc;

use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinError, JoinSet, LocalSet};

use super::reader::serve;
use super::stages::{Accepted, Closed, Handshake};
use crate::broker::context::Shared;
use crate::engine::Failure;
use crate::io::Worker;
use crate::types::WithCauses;

/// The maximum number of accepted connections queued for a shard.
const BACKLOG: usize = 128;

/// A running shard.
#[derive(Debug)]
pub(crate) struct Shard {
    /// The queue of accepted connections.
    pub(crate) queue: Sender<Accepted>,
    /// The thread, which ends when the broker stops.
    pub(crate) thread: Worker,
    /// Its event loop.
    pub(crate) runtime: Handle,
}

impl Shard {
    /// Starts the shard with this index.
    pub(crate) fn start(index: usize, shared: Arc<Shared>) -> io::Result<Self> {
        let (queue, accepted) = channel(BACKLOG);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (failure, handle) = (Arc::clone(shared.failure()), runtime.handle().clone());
        let work = move || LocalSet::new().block_on(&runtime, run(accepted, shared));
        Ok(Self { queue, thread: start_thread(index, failure, work)?, runtime: handle })
    }
}

/// Starts the thread of a shard. If it panics, the broker stops: without the thread, the shard's
/// connections would hang, and further connections assigned to the shard would be refused.
fn start_thread(
    index: usize,
    failure: Arc<Failure>,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<Worker> {
    let on_panic = move |name: &str| failure.notice_thread(name);
    Worker::start(&format!("streamlog-net-{index}"), on_panic, work)
}

async fn run(mut accepted: Receiver<Accepted>, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let notice = |ended: Result<(), JoinError>| {
        let _ = ended.inspect_err(|error| shared.failure().notice(error));
    };
    loop {
        tokio::select! {
            () = shared.stopping().cancelled() => break,
            Some(ended) = connections.join_next() => notice(ended),
            next = accepted.recv() => match next {
                Some(next) => { connections.spawn_local(attend(next, Arc::clone(&shared))); }
                None => break,
            },
        }
    }
    // All connections see the same signal and end by themselves.
    while let Some(ended) = connections.join_next().await {
        notice(ended);
    }
}

async fn attend(accepted: Accepted, shared: Arc<Shared>) {
    let peer = accepted.admitted.peer;
    let known = match Handshake::begin(accepted, shared.network()) {
        Ok(handshake) => handshake.complete(),
        Err(error) => {
            tracing::debug!(%peer, "connection not served: {error}");
            return;
        }
    };
    match serve(known, shared).await {
        Closed::ByPeer | Closed::Stopping | Closed::Idle(_) => {
            tracing::debug!(%peer, "connection closed");
        }
        closed => tracing::warn!(%peer, "connection closed: {}", WithCauses(&closed)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// The longest wait for a thread.
    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn a_panic_of_a_shard_stops_the_broker_and_names_the_thread() {
        let failure = Arc::new(Failure::default());
        let work = || panic!("broken by the test");
        let thread = start_thread(3, Arc::clone(&failure), work).unwrap();
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let stopped = async { timeout(PATIENCE, failure.stopping.cancelled()).await };
        runtime.block_on(stopped).expect("the broker serves on without the shard");
        assert_eq!(failure.reason().unwrap(), "the thread 'streamlog-net-3' has panicked");
        thread.join();
    }

    #[test]
    fn the_regular_end_of_a_shard_is_no_failure() {
        let failure = Arc::new(Failure::default());
        start_thread(0, Arc::clone(&failure), || {}).unwrap().join();
        assert_eq!(failure.reason(), None);
        assert!(!failure.stopping.is_cancelled());
    }
}
