//! What the parts of one broker share, and what is known of one connection.

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

/// What all connections of one broker share.
pub(crate) struct Shared {
    /// The configuration the broker was started with.
    pub(crate) config: BrokerConfig,
    /// The addresses it listens on.
    pub(crate) listeners: Listeners,
    /// Metadata, partitions and logs.
    pub(crate) engine: Arc<EngineState>,
    /// The coordinators of the groups here.
    pub(crate) coordinators: Arc<Coordinators>,
    /// What consumers of many partitions were told last.
    pub(crate) fetch_sessions: FetchSessions,
    /// Memory for large requests.
    pub(crate) request_memory: Budget,
}

/// What is known of one connection.
#[derive(Debug)]
pub(crate) struct Session {
    /// Who connected.
    pub(crate) peer: SocketAddr,
    /// The address they reached.
    pub(crate) local: SocketAddr,
    /// Whom they act for.
    pub(crate) principal: Principal,
    /// What they said they are: name and version.
    pub(crate) software: RefCell<String>,
    /// Cancelled when nobody waits for answers any more.
    pub(crate) gone: CancellationToken,
}

impl Session {
    /// A connection nothing has been heard from yet.
    pub(crate) fn new(peer: SocketAddr, local: SocketAddr) -> Self {
        Self {
            peer,
            local,
            principal: Principal::anonymous(),
            software: RefCell::default(),
            gone: CancellationToken::new(),
        }
    }

    /// Whether the peer may do this.
    pub(crate) fn may(&self, operation: Operation, resource: Resource<'_>) -> bool {
        authorize(&self.principal, operation, resource)
    }
}
