//! The shared connection to a broker, opened on demand and reopened after a failure, with pauses
//! between failed attempts.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::client::background::Tasks;
use crate::client::cluster::{Backoff, Connection, Monitor};
use crate::client::{ClientConfig, ClientError};
use crate::config::HostPort;
use crate::io::Clock;

/// A broker's address and the open connection to it, if any.
#[derive(Debug)]
pub(crate) struct Link {
    address: HostPort,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    connection: Option<Arc<Connection>>,
    backoff: Backoff,
    pause_until: Duration,
}

impl Link {
    /// A link that has not connected yet.
    pub(crate) fn new(address: HostPort, config: &ClientConfig, clock: &dyn Clock) -> Self {
        let backoff = Backoff::new(config, clock);
        let state = State { connection: None, backoff, pause_until: Duration::ZERO };
        Self { address, state: Mutex::new(state) }
    }

    /// Returns the open connection, or opens one.
    pub(crate) async fn connection(
        &self,
        config: &ClientConfig,
        clock: &dyn Clock,
        tasks: &Tasks,
        monitor: &Arc<Monitor>,
    ) -> Result<Arc<Connection>, ClientError> {
        // Held while connecting, so that concurrent callers share one attempt.
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.take_if(|open| open.is_open()) {
            state.connection = Some(Arc::clone(&connection));
            return Ok(connection);
        }
        state.connection = None;
        tokio::time::sleep(state.pause_until.saturating_sub(clock.monotonic())).await;
        match Connection::open(&self.address, config, tasks, monitor).await {
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
