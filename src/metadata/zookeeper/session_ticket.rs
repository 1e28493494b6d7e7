//! The ticket of a session: everything by which another process can end it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::metadata::zookeeper::connection::SessionIdentity;
use crate::metadata::zookeeper::{Digest, ZooKeeperAddress};

/// The ticket of a session.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTicket {
    /// The servers of the ensemble, each as `HOST:PORT`.
    pub(super) servers: Vec<String>,
    pub(super) id: i64,
    pub(super) password: Vec<u8>,
    pub(super) timeout_ms: u64,
    /// The credentials with which the session changes nodes.
    pub(super) digest: Option<Digest>,
    /// The body of the transaction that notes the end of the process.
    pub(super) at_end: Option<Vec<u8>>,
}

/// An observer of the sessions that this process opens.
pub trait SessionObserver: Send + Sync + fmt::Debug {
    /// Called after a session has begun; its ticket replaces that of any earlier session. Called
    /// again once the transaction that notes the end of the process is known.
    fn begun(&self, ticket: &SessionTicket);
}

impl SessionTicket {
    pub(super) fn new(
        address: &ZooKeeperAddress,
        digest: Option<Digest>,
        identity: &SessionIdentity,
    ) -> Self {
        Self {
            servers: address.servers.clone(),
            id: identity.id,
            password: identity.password.clone(),
            timeout_ms: u64::try_from(identity.timeout.as_millis()).unwrap_or(u64::MAX),
            digest,
            at_end: None,
        }
    }
}

/// Hides the password, which must not get into a log.
impl fmt::Debug for SessionTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTicket").field("id", &self.id).finish_non_exhaustive()
    }
}
