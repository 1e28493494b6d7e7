//! The network between the nodes, and between them and their clients: a cut and a delay for each
//! direction.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cluster::ClusterError;
use crate::net::{Conditions, Flow, Network};

/// An end of connections. A cut or a delay applies between two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// A node, by its number.
    Node(usize),
    /// All clients.
    Clients,
}

impl From<usize> for End {
    fn from(node: usize) -> Self {
        Self::Node(node)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "node {node}"),
            Self::Clients => f.write_str("the clients"),
        }
    }
}

/// The state of every direction, and the connections that nodes have opened.
#[derive(Debug)]
pub(super) struct Directions {
    /// The addresses of the nodes.
    addresses: Vec<SocketAddr>,
    /// The directions by their ends, in rows by sender. The clients come after the nodes.
    flows: Vec<watch::Sender<Flow>>,
    /// The node that has opened a connection, by its local address: other connections come from
    /// clients.
    openers: Mutex<HashMap<SocketAddr, Arc<usize>>>,
}

/// The network as one process of a node sees it.
#[derive(Debug)]
pub(super) struct NodeNetwork {
    directions: Arc<Directions>,
    node: usize,
    ended: CancellationToken,
}

/// The entry in `openers` of a connection that a node has opened; removed when the connection is
/// dropped.
#[derive(Debug)]
struct Opened {
    directions: Arc<Directions>,
    local: SocketAddr,
    opener: Arc<usize>,
}

impl Directions {
    /// The directions between nodes at these addresses, and clients.
    pub(super) fn between(addresses: Vec<SocketAddr>) -> Self {
        let ends = addresses.len() + 1;
        let flows = (0..ends * ends).map(|_| watch::Sender::new(Flow::default())).collect();
        Self { addresses, flows, openers: Mutex::default() }
    }

    /// Cuts the direction from `a` to `b`, and unless `one_way` the other too.
    pub(super) fn cut(&self, a: End, b: End, one_way: bool) -> Result<(), ClusterError> {
        let (from, to) = self.ends(a, b)?;
        let cut = |flow: &mut Flow| flow.is_cut = true;
        self.flow(from, to).send_modify(cut);
        if !one_way {
            self.flow(to, from).send_modify(cut);
        }
        Ok(())
    }

    /// Delays the bytes between `a` and `b` by this time in each direction.
    pub(super) fn delay(&self, a: End, b: End, delay: Duration) -> Result<(), ClusterError> {
        let (from, to) = self.ends(a, b)?;
        for (from, to) in [(from, to), (to, from)] {
            // Only the reading end delays bytes, and the network does not control how a client
            // reads. So a node reads from a client with the delay of both directions, and nothing
            // delays the bytes to a client.
            let clients = self.clients();
            let of_direction = match (from == clients, to == clients) {
                (true, _) => delay * 2,
                (_, true) => Duration::ZERO,
                _ => delay,
            };
            self.flow(from, to).send_modify(|flow| flow.delay = of_direction);
        }
        Ok(())
    }

    /// Ends all cuts and delays.
    pub(super) fn heal(&self) {
        for flow in &self.flows {
            flow.send_replace(Flow::default());
        }
    }

    /// The network of a process of a node, which lasts until `ended`.
    pub(super) fn of(self: &Arc<Self>, node: usize, ended: CancellationToken) -> NodeNetwork {
        NodeNetwork { directions: Arc::clone(self), node, ended }
    }

    fn ends(&self, a: End, b: End) -> Result<(usize, usize), ClusterError> {
        let index = |end: End| match end {
            End::Clients => Ok(self.clients()),
            End::Node(node) if node < self.clients() => Ok(node),
            End::Node(node) => Err(ClusterError::NoSuchNode { node, count: self.clients() }),
        };
        let (from, to) = (index(a)?, index(b)?);
        if from == to { Err(ClusterError::SameEnd(a.to_string())) } else { Ok((from, to)) }
    }

    /// The index of the clients.
    fn clients(&self) -> usize {
        self.addresses.len()
    }

    fn flow(&self, from: usize, to: usize) -> &watch::Sender<Flow> {
        &self.flows[from * (self.clients() + 1) + to]
    }

    fn openers(&self) -> MutexGuard<'_, HashMap<SocketAddr, Arc<usize>>> {
        self.openers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NodeNetwork {
    fn conditions(&self, peer: usize) -> Conditions {
        let incoming = self.directions.flow(peer, self.node).subscribe();
        let outgoing = self.directions.flow(self.node, peer).subscribe();
        Conditions::new(incoming, outgoing, self.ended.clone())
    }
}

impl Network for NodeNetwork {
    fn opening(&self, local: SocketAddr, peer: SocketAddr) -> Conditions {
        let directions = Arc::clone(&self.directions);
        let peer = directions.addresses.iter().position(|address| *address == peer);
        let opener = Arc::new(self.node);
        directions.openers().insert(local, Arc::clone(&opener));
        let peer = peer.unwrap_or(self.directions.clients());
        self.conditions(peer).with(Opened { directions, local, opener })
    }

    fn accepted(&self, peer: SocketAddr) -> Conditions {
        let opener = self.directions.openers().get(&peer).map(|opener| **opener);
        self.conditions(opener.unwrap_or(self.directions.clients()))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut openers = self.directions.openers();
        // Another connection may have the address by now.
        if openers.get(&self.local).is_some_and(|known| Arc::ptr_eq(known, &self.opener)) {
            openers.remove(&self.local);
        }
    }
}
