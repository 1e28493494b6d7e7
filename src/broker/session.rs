//! The state of one connection.

use std::cell::RefCell;
use std::net::SocketAddr;

use tokio_util::sync::CancellationToken;

use crate::broker::authorize::{Operation, Principal, Resource, authorize};

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Session {
    /// The address of the peer.
    pub(crate) peer: SocketAddr,
    /// The local address that the peer connected to.
    pub(crate) local: SocketAddr,
    /// The identity on whose behalf the connection acts.
    pub(crate) principal: Principal,
    /// The client software: name and version.
    pub(crate) software: RefCell<String>,
    /// Cancelled when nobody waits for responses any more.
    pub(crate) gone: CancellationToken,
}

impl Session {
    /// Creates the session of a new connection.
    pub(crate) fn new(peer: SocketAddr, local: SocketAddr) -> Self {
        Self {
            peer,
            local,
            principal: Principal::anonymous(),
            software: RefCell::default(),
            gone: CancellationToken::new(),
        }
    }

    /// Returns true if the peer may perform this operation.
    pub(crate) fn may(&self, operation: Operation, resource: Resource<'_>) -> bool {
        authorize(&self.principal, operation, resource)
    }
}
