//! The handle of administration, and how its questions reach the brokers.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::client::ClientError;
use crate::client::cluster::{Brokers, Deadline};
use crate::client::handle::Core;
use crate::wire::ErrorCode;

/// Administration over one client's connections.
#[derive(Clone, Debug)]
pub struct Admin {
    core: Arc<Core>,
}

impl Admin {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// Runs `work` on the client's thread, within the client's timeout.
    pub(super) fn with_brokers<T, F>(
        &self,
        operation: &'static str,
        work: impl FnOnce(Arc<Brokers>, Deadline) -> F,
    ) -> Result<T, ClientError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ClientError>> + Send + 'static,
    {
        let brokers = Arc::clone(&self.core.brokers);
        let deadline = brokers.deadline(operation, brokers.config().timeout);
        self.core.run(work(brokers, deadline))
    }

    /// The client's timeout, as requests carry it.
    pub(super) fn timeout_ms(&self) -> i32 {
        let timeout: Duration = self.core.brokers.config().timeout;
        i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX)
    }
}

/// The error of an answer that leaves out what was asked for.
pub(super) fn unanswered(about: &str) -> ClientError {
    ClientError::from_code(ErrorCode::UnknownServerError, about, None)
}
