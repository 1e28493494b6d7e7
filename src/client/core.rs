//! State shared by the handles of a client, on the callers' side.

use std::future::Future;
use std::sync::Arc;

use crate::client::background::Background;
use crate::client::call::Call;
use crate::client::cluster::Brokers;
use crate::client::waiting::Waiter;
use crate::client::{ClientConfig, ClientError};
use crate::io::Clock;

/// The state shared by the handles of a client. Dropping it closes the client.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) brokers: Arc<Brokers>,
    pub(crate) waiter: Waiter,
    background: Background,
}

impl Core {
    /// Starts the thread of a client; no broker is contacted yet.
    pub(crate) fn start(config: ClientConfig, clock: Arc<dyn Clock>) -> Result<Self, ClientError> {
        let background = Background::start()?;
        let waiter = Waiter::new(Arc::clone(&clock), config.signals);
        let brokers = Arc::new(Brokers::new(config, clock, background.tasks().clone()));
        background.tasks().start(Arc::clone(&brokers).keep_reachable());
        Ok(Self { brokers, waiter, background })
    }

    /// Wraps `work` so that it runs on the client's thread.
    pub(crate) fn call<T, F>(&self, work: F) -> Call<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ClientError>> + Send + 'static,
    {
        Call::new(self.background.tasks().clone(), self.waiter.clone(), work)
    }

    /// [`close`](Self::close) as a future.
    pub(crate) async fn closing(&self) {
        self.background.stopping().await;
        self.brokers.monitor().silence();
    }

    /// Ends all tasks, without waiting for that.
    pub(crate) fn abandon(&self) {
        self.background.tasks().stop();
        self.brokers.monitor().silence();
    }

    /// Ends all tasks and the thread. A second call does nothing.
    pub(crate) fn close(&self) {
        self.background.stop();
        self.brokers.monitor().silence();
    }
}
