//! The connection to a broker that many callers share, opened on demand and reopened after a
//! failure, with pauses between failed attempts.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use super::backoff::Backoff;
use super::connection::Connection;
use super::connector::Connector;
use super::fault::LinkError;
use crate::config::HostPort;

/// A broker's address and the open connection to it, if any.
#[derive(Debug)]
pub struct SharedConnection {
    address: HostPort,
    connector: Connector,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    connection: Option<Arc<Connection>>,
    backoff: Backoff,
    pause_until: Duration,
}

impl SharedConnection {
    /// A shared connection that is not open yet.
    pub fn new(address: HostPort, connector: Connector) -> Self {
        let backoff = connector.backoff();
        let state = State { connection: None, backoff, pause_until: Duration::ZERO };
        Self { address, connector, state: Mutex::new(state) }
    }

    /// Returns the open connection, or opens one.
    pub async fn get(&self) -> Result<Arc<Connection>, LinkError> {
        // Held while connecting, so that concurrent callers share one attempt.
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.take_if(|open| open.is_open()) {
            state.connection = Some(Arc::clone(&connection));
            return Ok(connection);
        }
        state.connection = None;
        let clock = self.connector.clock();
        tokio::time::sleep(state.pause_until.saturating_sub(clock.monotonic())).await;
        match self.connector.connect(&self.address).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                state.connection = Some(Arc::clone(&connection));
                state.backoff.reset();
                Ok(connection)
            }
            Err(error) => {
                state.pause_until = clock.monotonic().saturating_add(state.backoff.next_pause());
                Err(error)
            }
        }
    }
}
