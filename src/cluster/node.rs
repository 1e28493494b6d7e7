//! One node: its address and its disk, which outlive its processes, and the broker that runs now.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpSocket;
use tokio_util::sync::CancellationToken;

use crate::broker::{Broker, BrokerConfig, BrokerError, Surroundings};
use crate::cluster::ClusterError;
use crate::cluster::freeze::Frozen;
use crate::cluster::network::Directions;
use crate::cluster::store_link::{Outage, StoreLink};
use crate::io::faulty::FaultyDisk;
use crate::io::{MemoryDisk, SystemClock, World};
use crate::metadata::MemoryStore;

/// A node of a cluster.
pub(super) struct Node {
    index: usize,
    config: BrokerConfig,
    address: SocketAddr,
    /// Keeps the port for this node while it does not listen. Both sockets reuse addresses, so it
    /// does not keep the broker from listening on the port.
    _port: TcpSocket,
    directions: Arc<Directions>,
    link: Arc<StoreLink>,
    state: Mutex<State>,
}

struct State {
    disk: FaultyDisk,
    process: Option<Process>,
    /// The reason why the latest process has ended by itself, if it has.
    failure: Option<String>,
    /// The number of power failures so far. It decides which unflushed bytes survive the next one.
    power_failures: u64,
    pauses: u64,
}

/// A running broker.
struct Process {
    broker: Broker,
    /// Cancelled with everything that connects the process to the network.
    ended: CancellationToken,
    pause: Option<Pause>,
}

/// A pause of a process.
struct Pause {
    number: u64,
    /// Cancelled when the pause ends.
    over: CancellationToken,
    _frozen: Frozen,
}

/// An unplanned end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crash {
    /// The end of the process alone: the page cache stays.
    Killed,
    /// The end of the machine: only flushed bytes stay.
    PowerLost,
}

impl Node {
    /// A node that does not run yet, with an empty disk.
    pub(super) fn new(
        index: usize,
        config: BrokerConfig,
        port: TcpSocket,
        directions: Arc<Directions>,
    ) -> std::io::Result<Self> {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), index as u64);
        let state = State { disk, process: None, failure: None, power_failures: 0, pauses: 0 };
        Ok(Self {
            index,
            config,
            address: port.local_addr()?,
            _port: port,
            directions,
            link: Arc::default(),
            state: Mutex::new(state),
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The connection to the metadata store.
    pub(super) fn link(&self) -> &Arc<StoreLink> {
        &self.link
    }

    /// True while a broker runs, paused or not, that has not stopped by itself.
    pub(super) fn is_running(&self) -> bool {
        let state = self.state();
        state.process.as_ref().is_some_and(|process| !process.has_stopped())
    }

    /// The reason why the broker stopped by itself, until the node is started again.
    pub(super) fn failure(&self) -> Option<String> {
        let state = self.state();
        let failing = state.process.as_ref().and_then(|process| process.broker.failure());
        failing.or_else(|| state.failure.clone())
    }

    /// The disk.
    #[cfg(feature = "internals")]
    pub(super) fn disk(&self) -> FaultyDisk {
        self.state().disk.clone()
    }

    /// Starts a broker in a session that begins with `store`, and returns the token that is
    /// cancelled when it stops.
    pub(super) fn start(&self, store: MemoryStore) -> Result<CancellationToken, ClusterError> {
        let mut state = self.state();
        self.end_failed(&mut state);
        if state.process.is_some() {
            return Err(ClusterError::Running { node: self.index });
        }
        state.failure = None;
        let ended = CancellationToken::new();
        let surroundings = Surroundings {
            world: World { disk: Arc::new(state.disk.clone()), clock: Arc::new(SystemClock) },
            store: Some(self.link.begin(store)),
            network: Some(Arc::new(self.directions.of(self.index, ended.clone()))),
        };
        let started = Broker::start_in(self.config.clone(), surroundings);
        let broker = started.map_err(|source| self.failed(source))?;
        let stopping = broker.stopping();
        state.process = Some(Process { broker, ended, pause: None });
        Ok(stopping)
    }

    /// Ends the broker if it has stopped by itself, as its process would end then.
    pub(super) fn end_if_failed(&self) {
        self.end_failed(&mut self.state());
    }

    fn end_failed(&self, state: &mut State) {
        if let Some(mut process) = state.process.take_if(|process| process.has_stopped()) {
            self.end_pause(state, &mut process);
            state.failure = process.broker.failure();
            // The error is the failure, which was already logged.
            let _ = process.broker.stop();
        }
    }

    /// Waits until the broker knows this many live brokers.
    pub(super) async fn knows(&self, brokers: usize) {
        let waiting = self.state().process.as_ref().map(|process| process.broker.knows(brokers));
        if let Some(waiting) = waiting {
            waiting.await;
        }
    }

    /// Stops the broker in order.
    pub(super) fn stop(&self) -> Result<(), ClusterError> {
        let mut state = self.state();
        let mut process = state.process.take().ok_or(self.not_running())?;
        self.end_pause(&state, &mut process);
        process.broker.stop().map_err(|source| self.failed(source))
    }

    /// Ends the broker at once. On return its threads have ended, its port is free, and nothing
    /// has left it since the call.
    pub(super) fn crash(&self, crash: Crash) -> Result<(), ClusterError> {
        let mut state = self.state();
        let Process { broker, ended, pause } = state.process.take().ok_or(self.not_running())?;
        // End these first, so that nothing that happens from here on can be observed.
        ended.cancel();
        self.link.interrupt(Outage::Ended);
        let reason = match crash {
            Crash::Killed => "the node was killed",
            Crash::PowerLost => "the node lost its power",
        };
        broker.fail(reason);
        state.disk = match crash {
            Crash::Killed => {
                // A guard outlives the process, notes its end and ends its session.
                if let Some(session) = self.link.session() {
                    session.prove_end();
                }
                state.disk.end_process()?
            }
            Crash::PowerLost => {
                state.power_failures += 1;
                state.disk.crash(state.power_failures)?
            }
        };
        drop(pause);
        broker.abandon(reason);
        Ok(())
    }

    /// Freezes all tasks, timers and threads. Returns the number of the pause, and a token that is
    /// cancelled when it ends.
    pub(super) fn pause(&self) -> Result<(u64, CancellationToken), ClusterError> {
        let mut state = self.state();
        state.pauses += 1;
        let number = state.pauses;
        let State { disk, process, .. } = &mut *state;
        let process = process.as_mut().filter(|process| !process.has_stopped());
        let process = process.ok_or(self.not_running())?;
        if let Some(pause) = &mut process.pause {
            pause.number = number;
            return Ok((number, pause.over.clone()));
        }
        let frozen = Frozen::stop(process.broker.runtimes());
        // Freeze the disk only after the threads: a task may wait for a thread that waits for the
        // disk.
        disk.freeze();
        self.link.interrupt(Outage::Paused);
        let over = CancellationToken::new();
        process.pause = Some(Pause { number, over: over.clone(), _frozen: frozen });
        Ok((number, over))
    }

    /// True during a pause.
    pub(super) fn is_paused(&self) -> bool {
        self.state().process.as_ref().is_some_and(|process| process.pause.is_some())
    }

    /// Ends the pause with this number, or any.
    pub(super) fn resume(&self, number: Option<u64>) {
        let mut state = self.state();
        if let Some(mut process) = state.process.take() {
            let current = process.pause.as_ref().map(|pause| pause.number);
            if number.is_none() || number == current {
                self.end_pause(&state, &mut process);
            }
            state.process = Some(process);
        }
    }

    fn end_pause(&self, state: &State, process: &mut Process) {
        let Some(pause) = process.pause.take() else { return };
        pause.over.cancel();
        state.disk.thaw();
        // Unfreeze the threads before the store can reach the node: it continues as if nothing had
        // happened.
        drop(pause);
        self.link.restore(Outage::Paused);
    }

    fn not_running(&self) -> ClusterError {
        ClusterError::NotRunning { node: self.index }
    }

    fn failed(&self, source: BrokerError) -> ClusterError {
        ClusterError::Node { node: self.index, source }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// True if the broker has stopped by itself.
    fn has_stopped(&self) -> bool {
        self.broker.stopping().is_cancelled()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, address, .. } = self;
        f.debug_struct("Node")
            .field("index", index)
            .field("address", address)
            .finish_non_exhaustive()
    }
}

/// A port on loopback that is free, and is kept free while the socket exists.
pub(super) fn free_port() -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    Ok(socket)
}
