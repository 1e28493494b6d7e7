//! Opening connections with common settings, on one runtime and for one observer.

use std::sync::Arc;

use super::backoff::Backoff;
use super::connection::{Connection, LinkConfig, Observer};
use super::fault::LinkError;
use super::tasks::Tasks;
use crate::config::HostPort;
use crate::io::Clock;

/// Opens connections to brokers; cheap to clone.
#[derive(Clone, Debug)]
pub struct Connector {
    config: Arc<LinkConfig>,
    clock: Arc<dyn Clock>,
    tasks: Tasks,
    observer: Arc<dyn Observer>,
}

impl Connector {
    /// A connector whose connections live on the runtime of `tasks`.
    pub fn new(
        config: LinkConfig,
        clock: Arc<dyn Clock>,
        tasks: Tasks,
        observer: Arc<dyn Observer>,
    ) -> Self {
        Self { config: Arc::new(config), clock, tasks, observer }
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The tasks that the connections are part of.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The pauses of a new sequence of attempts.
    pub fn backoff(&self) -> Backoff {
        Backoff::new(self.config.backoff, self.config.backoff_max, self.clock.as_ref())
    }

    /// Connects to a broker and negotiates API versions.
    pub async fn connect(&self, address: &HostPort) -> Result<Connection, LinkError> {
        let opened = Connection::open(address, &self.config, &self.tasks, &self.observer).await;
        opened.inspect_err(|error| self.observer.refused(error))
    }
}
