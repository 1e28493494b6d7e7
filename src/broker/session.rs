//! The state of a connection that its requests may use once the peer is known.

use std::cell::RefCell;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::broker::authorize::{Operation, Principal, Resource, authorize};
use crate::broker::listeners::BoundListener;

/// The identity of a peer, established by its handshake.
#[derive(Debug)]
pub(crate) struct Identity {
    /// The principal on whose behalf the peer acts.
    pub(crate) principal: Principal,
    /// The listener that the peer connected to.
    pub(crate) listener: Arc<BoundListener>,
    /// The address of the peer.
    pub(crate) peer: SocketAddr,
    /// The local address that the peer connected to.
    pub(crate) local: SocketAddr,
}

/// The state of a connection whose peer is known.
#[derive(Debug)]
pub(crate) struct Session {
    identity: Identity,
    /// The client software: name and version.
    pub(crate) software: RefCell<String>,
    /// Cancelled when the connection ends: its client waits for no response any more.
    pub(crate) gone: CancellationToken,
}

impl Session {
    /// Creates the session of a peer.
    pub(crate) fn new(identity: Identity) -> Self {
        Self { identity, software: RefCell::default(), gone: CancellationToken::new() }
    }

    /// The identity of the peer.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns true if the peer may perform this operation.
    pub(crate) fn may(&self, operation: Operation, resource: Resource<'_>) -> bool {
        authorize(&self.identity.principal, operation, resource)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.principal.name, self.peer)
    }
}
