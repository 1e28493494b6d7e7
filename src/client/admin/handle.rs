//! The administration handles, and how their calls reach the brokers.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::client::cluster::{Brokers, Deadline};
use crate::client::core::Core;
use crate::client::waiting::Waiter;
use crate::client::{Call, ClientError};
use crate::wire::ErrorCode;

/// Administration over one client's connections.
#[derive(Clone, Debug)]
pub struct Admin {
    calls: AdminCalls,
    /// Keeps the client open.
    _core: Arc<Core>,
}

/// The operations of [`Admin`] as calls that can be blocked on or awaited. They do not keep the
/// client open.
#[derive(Clone, Debug)]
pub struct AdminCalls {
    brokers: Arc<Brokers>,
    waiter: Waiter,
}

impl Admin {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        let calls = AdminCalls { brokers: Arc::clone(&core.brokers), waiter: core.waiter.clone() };
        Self { calls, _core: core }
    }

    /// The operations as calls, for callers that do not block a thread.
    pub fn calls(&self) -> &AdminCalls {
        &self.calls
    }
}

impl AdminCalls {
    /// Wraps `work` with the client's default timeout.
    pub(super) fn with_brokers<T, F>(
        &self,
        operation: &'static str,
        work: impl FnOnce(Arc<Brokers>, Deadline) -> F + Send + 'static,
    ) -> Call<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ClientError>> + Send + 'static,
    {
        let brokers = Arc::clone(&self.brokers);
        self.call(async move {
            let deadline = brokers.deadline(operation, brokers.config().timeout);
            match work(Arc::clone(&brokers), deadline).await {
                Ok(done) => Ok(done),
                Err(error) => Err(brokers.with_nearest(error).await),
            }
        })
    }

    /// Wraps `work`, which consists of other calls.
    pub(super) fn call<T, F>(&self, work: F) -> Call<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ClientError>> + Send + 'static,
    {
        Call::new(self.brokers.tasks().clone(), self.waiter.clone(), work)
    }

    /// The client's default timeout in milliseconds, for requests.
    pub(super) fn timeout_ms(&self) -> i32 {
        let timeout: Duration = self.brokers.config().timeout;
        i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX)
    }
}

/// The error for a response that lacks an entry for `about`.
pub(super) fn unanswered(about: &str) -> ClientError {
    ClientError::from_code(ErrorCode::UnknownServerError, about, None)
}
