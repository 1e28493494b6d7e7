//! The ticket of a session: everything by which another process can end it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::metadata::zookeeper::ZooKeeperAddress;
use crate::metadata::zookeeper::connection::SessionIdentity;

/// The ticket of a session.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTicket {
    /// The servers of the ensemble, each as `HOST:PORT`.
    pub(super) servers: Vec<String>,
    pub(super) id: i64,
    pub(super) password: Vec<u8>,
    pub(super) timeout_ms: u64,
}

/// An observer of the sessions that this process opens.
pub trait SessionObserver: Send + Sync + fmt::Debug {
    /// Called after a session has begun; it takes the place of any earlier one.
    fn begun(&self, ticket: &SessionTicket);
}

impl SessionTicket {
    pub(super) fn new(address: &ZooKeeperAddress, identity: &SessionIdentity) -> Self {
        Self {
            servers: address.servers.clone(),
            id: identity.id,
            password: identity.password.clone(),
            timeout_ms: u64::try_from(identity.timeout.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Hides the password, which must not get into a log.
impl fmt::Debug for SessionTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTicket").field("id", &self.id).finish_non_exhaustive()
    }
}
