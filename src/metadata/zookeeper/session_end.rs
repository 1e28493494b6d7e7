//! Ending the session of a process that has ended, from another process.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::io::Clock;
use crate::metadata::store::SessionError;
use crate::metadata::zookeeper::calls::Request;
use crate::metadata::zookeeper::connection::{ConnectionError, SessionIdentity};
use crate::metadata::zookeeper::ensemble::{Ensemble, Reached};
use crate::metadata::zookeeper::{SessionTicket, ZooKeeperAddress};

/// The pause before another attempt to reach a server.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

impl SessionTicket {
    /// Notes the end of the session's owner, and ends the session. The owner must have ended:
    /// otherwise it would lose the session. Tries for as long as the session can last. Succeeds if
    /// the session has ended before.
    ///
    /// # Errors
    /// `Unreachable` if no server answers in this time.
    pub async fn end(&self, clock: Arc<dyn Clock>) -> Result<(), SessionError> {
        let session_timeout = Duration::from_millis(self.timeout_ms);
        let began = clock.monotonic();
        let address = ZooKeeperAddress { servers: self.servers.clone(), chroot: String::new() };
        let (digest, observer) = (self.digest.clone(), None);
        let ensemble = Ensemble { address, digest, session_timeout, clock, observer };
        loop {
            let error = match self.end_at(&ensemble).await {
                Ok(()) | Err(ConnectionError::SessionExpired) => return Ok(()),
                Err(error) => error,
            };
            if ensemble.clock.monotonic().saturating_sub(began) > session_timeout {
                let servers = ensemble.address.to_string();
                return Err(SessionError::Unreachable { servers, reason: error.to_string() });
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    async fn end_at(&self, ensemble: &Ensemble) -> Result<(), ConnectionError> {
        let mut identity = SessionIdentity {
            id: self.id,
            password: self.password.clone(),
            timeout: ensemble.session_timeout,
            last_zxid: 0,
        };
        // The order matters. If the note is refused, since the owner's successor has registered
        // already, the session is closed nevertheless, and another attempt finds it ended.
        let note = self.at_end.clone().map(Request::transaction);
        let end: Vec<_> = note.into_iter().chain([Request::close_session()]).collect();
        let Reached { .. } = ensemble.reach(&mut identity, 0, &end).await?;
        Ok(())
    }
}
