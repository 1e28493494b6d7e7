//! The servers of an ensemble, some of which may be down.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::io::Clock;
use crate::metadata::zookeeper::calls::{Request, xid};
use crate::metadata::zookeeper::connection::{Connection, ConnectionError, SessionIdentity};
use crate::metadata::zookeeper::{Digest, SessionObserver, ZooKeeperAddress};

/// The minimum time for a server to answer before the next one is tried.
const ATTEMPT_MIN: Duration = Duration::from_millis(300);

/// An ensemble, and the way in which its sessions are opened.
#[derive(Debug)]
pub(super) struct Ensemble {
    pub(super) address: ZooKeeperAddress,
    pub(super) digest: Option<Digest>,
    pub(super) session_timeout: Duration,
    pub(super) clock: Arc<dyn Clock>,
    /// The observer that is told of each session.
    pub(super) observer: Option<Arc<dyn SessionObserver>>,
}

/// A connection that is ready for requests.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) connection: Connection,
    /// The index of the server in the list.
    pub(super) server: usize,
    /// The moment when the first request that it has answered was sent.
    pub(super) heard: Duration,
}

impl Ensemble {
    /// Connects to the first server that answers, beginning with number `first`, and sends it
    /// `requests` before anything else.
    ///
    /// # Errors
    /// The error of the last server, if none answers. `SessionExpired` and `AuthFailed` at once,
    /// since all servers would answer the same.
    pub(super) async fn reach(
        &self,
        identity: &mut SessionIdentity,
        first: usize,
        requests: &[Request],
    ) -> Result<Reached, ConnectionError> {
        let count = self.address.servers.len();
        let attempt_time = identity.timeout / u32::try_from(count + 1).unwrap_or(u32::MAX);
        let attempt_time = attempt_time.max(ATTEMPT_MIN);
        let mut refusal = ConnectionError::Silent(Duration::ZERO);
        for number in 0..count {
            let server = (first + number) % count;
            let heard = self.clock.monotonic();
            let attempt = self.connect(&self.address.servers[server], identity, requests);
            refusal = match timeout(attempt_time, attempt).await {
                Ok(Ok(connection)) => return Ok(Reached { connection, server, heard }),
                Ok(Err(error)) if error.is_final() => return Err(error),
                Ok(Err(error)) => error,
                Err(_elapsed) => ConnectionError::Silent(attempt_time),
            };
            tracing::debug!(server = %self.address.servers[server], error = %refusal, "no session");
        }
        Err(refusal)
    }

    async fn connect(
        &self,
        server: &str,
        identity: &mut SessionIdentity,
        requests: &[Request],
    ) -> Result<Connection, ConnectionError> {
        let mut connection = Connection::open(server, identity).await?;
        let auth = self.digest.as_ref().map(|digest| Request::auth(digest.as_bytes()));
        let auth = auth.map(|request| (xid::AUTH, request));
        let numbered = (1..).zip(requests.iter().cloned());
        connection.prepare(auth.into_iter().chain(numbered).collect(), identity).await?;
        Ok(connection)
    }
}
