//! A thread that serves the connections assigned to it for their lifetime.

use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::runtime::Builder;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinError, JoinSet, LocalSet};

use super::admission::Admitted;
use super::closed::Closed;
use super::reader::serve;
use crate::broker::context::Shared;
use crate::broker::session::Session;
use crate::net::Transport;
use crate::types::WithCauses;

/// The maximum number of accepted connections queued for a shard.
const BACKLOG: usize = 128;

/// An accepted connection on its way to its shard.
pub(crate) struct Accepted {
    /// The socket, non-blocking.
    pub(crate) stream: std::net::TcpStream,
    /// The admission, which counts towards the limits.
    pub(crate) admitted: Admitted,
}

/// A running shard.
#[derive(Debug)]
pub(crate) struct Shard {
    /// The queue of accepted connections.
    pub(crate) queue: Sender<Accepted>,
    /// The thread, which ends when the broker stops.
    pub(crate) thread: JoinHandle<()>,
}

impl Shard {
    /// Starts the shard with this index.
    pub(crate) fn start(index: usize, shared: Arc<Shared>) -> std::io::Result<Self> {
        let (queue, accepted) = channel(BACKLOG);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let thread = thread::Builder::new()
            .name(format!("streamlog-net-{index}"))
            .spawn(move || LocalSet::new().block_on(&runtime, run(accepted, shared)))?;
        Ok(Self { queue, thread })
    }
}

async fn run(mut accepted: Receiver<Accepted>, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let notice = |ended: Result<(), JoinError>| {
        let _ = ended.inspect_err(|error| shared.notice(error));
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
    let result = async {
        let transport = Transport::direct(accepted.stream)?;
        let session = Session::new(peer, transport.local_addr()?);
        Ok::<_, std::io::Error>(serve(transport, Rc::new(session), Arc::clone(&shared)).await)
    };
    match result.await {
        Ok(Closed::ByPeer | Closed::Stopping | Closed::Idle(_)) => {
            tracing::debug!(%peer, "connection closed");
        }
        Ok(closed) => tracing::warn!(%peer, "connection closed: {}", WithCauses(&closed)),
        Err(error) => tracing::debug!(%peer, "connection not served: {error}"),
    }
}
