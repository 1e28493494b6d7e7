//! The links between machines: what is sent over them takes a while, and is lost while they are
//! cut, in one direction or both.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use streamlog::config::HostPort;
use streamlog::net::{Carrier, Conditions, Exchange};
use tokio::sync::oneshot;

use crate::world::World;

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A machine of the cluster.
    Machine(usize),
    /// The machine of all clients, whose links are never cut.
    Clients,
}

/// The links that are cut.
#[derive(Debug, Default)]
pub(crate) struct Network {
    cut: Mutex<BTreeSet<(Place, Place)>>,
}

impl Network {
    /// Cuts the link in this direction.
    pub(crate) fn cut(&self, from: usize, to: usize) {
        self.lock().insert((Place::Machine(from), Place::Machine(to)));
    }

    /// Repairs all links of a machine.
    pub(crate) fn repair(&self, machine: usize) {
        let end = Place::Machine(machine);
        self.lock().retain(|(from, to)| *from != end && *to != end);
    }

    /// True if nothing arrives over the link in this direction.
    pub(crate) fn is_cut(&self, from: Place, to: Place) -> bool {
        self.lock().contains(&(from, to))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(Place, Place)>> {
        self.cut.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The port of the first machine; it is only a name here.
const PORT: u16 = 9_000;

/// The address of a machine.
pub(crate) fn address_of(machine: usize) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, PORT + u16::try_from(machine).unwrap()))
}

/// A request of a broker to another machine, on its way.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) request: Bytes,
    pub(crate) reply: oneshot::Sender<Bytes>,
}

/// The links of a machine, as its broker uses them.
pub(crate) struct Links {
    world: Weak<World>,
    machine: usize,
}

impl Links {
    pub(crate) fn of(world: &Arc<World>, machine: usize) -> Self {
        Self { world: Arc::downgrade(world), machine }
    }
}

impl streamlog::net::Network for Links {
    fn opening(&self, _: SocketAddr, _: SocketAddr) -> Conditions {
        unreachable!("no broker opens a socket")
    }

    fn accepted(&self, _: SocketAddr) -> Conditions {
        unreachable!("no broker accepts a socket")
    }

    fn carrier(&self) -> Option<&dyn Carrier> {
        Some(self)
    }
}

impl Carrier for Links {
    fn exchange(&self, peer: &HostPort, request: Bytes) -> Exchange {
        let (reply, replied) = oneshot::channel();
        let (from, to) = (self.machine, usize::from(peer.port - PORT));
        if let Some(world) = self.world.upgrade() {
            world.send(Letter { from, to, request, reply });
        }
        Box::pin(async move { replied.await.map_err(|_| ErrorKind::ConnectionReset.into()) })
    }
}

impl Debug for Links {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Links({})", self.machine)
    }
}
