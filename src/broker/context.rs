//! State shared by all parts of a broker, and the state of one connection.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::broker::BrokerConfig;
use crate::broker::authorize::{Operation, Principal, Resource, authorize};
use crate::broker::coordinator::Coordinators;
use crate::broker::fetch_session::FetchSessions;
use crate::broker::listeners::Listeners;
use crate::engine::EngineState;
use crate::net::Budget;

/// State shared by all connections of a broker.
pub(crate) struct Shared {
    /// The configuration with which the broker was started.
    pub(crate) config: BrokerConfig,
    /// The listeners.
    pub(crate) listeners: Listeners,
    /// Metadata, partitions and logs.
    pub(crate) engine: Arc<EngineState>,
    /// The group coordinators of this broker.
    pub(crate) coordinators: Arc<Coordinators>,
    /// The fetch sessions of consumers and followers.
    pub(crate) fetch_sessions: FetchSessions,
    /// The memory budget for large requests.
    pub(crate) request_memory: Budget,
}

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
