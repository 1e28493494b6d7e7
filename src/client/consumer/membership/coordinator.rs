//! A member's connection to the broker that coordinates its group.

use std::sync::Arc;
use std::time::Duration;

use crate::client::ClientError;
use crate::client::cluster::Role;
use crate::client::consumer::shared::Shared;
use crate::config::HostPort;
use crate::link::{Connection, LinkError};
use crate::wire::Message;

/// A connection of a member's own to the coordinator: a `JoinGroup` waits for the other members,
/// and must not delay the responses of other requests.
#[derive(Debug)]
pub(super) struct Coordinator {
    shared: Arc<Shared>,
    address: HostPort,
    connection: Connection,
}

impl Coordinator {
    /// Looks up the coordinator of a group, and connects to it.
    pub(super) async fn find(shared: &Arc<Shared>, group: &str) -> Result<Self, ClientError> {
        let address = shared.brokers.coordinator(group).await?;
        Self::connect(shared, address).await
    }

    async fn connect(shared: &Arc<Shared>, address: HostPort) -> Result<Self, ClientError> {
        let (brokers, opening) = (&shared.brokers, shared.brokers.open(&address));
        let role = || Role::Coordinator;
        let connection = brokers.answer_in_role((&address, Duration::ZERO), role, opening).await?;
        Ok(Self { shared: Arc::clone(shared), address, connection })
    }

    /// Another connection to the same broker.
    pub(super) async fn connect_again(&self) -> Result<Self, ClientError> {
        Self::connect(&self.shared, self.address.clone()).await
    }

    /// Its address.
    pub(super) fn address(&self) -> &HostPort {
        &self.address
    }

    /// Sends a request, and waits for the answer as long as the broker may be the coordinator.
    pub(super) async fn ask<R: Message>(&self, request: &R) -> Result<R::Response, ClientError> {
        self.as_coordinator(self.connection.submit(request)?.answer()).await
    }

    /// As `ask`, for an answer that may take longer than the time limit of requests.
    pub(super) async fn ask_within<R: Message>(
        &self,
        request: &R,
        limit: Duration,
    ) -> Result<R::Response, ClientError> {
        self.as_coordinator(self.connection.submit(request)?.answer_within(limit)).await
    }

    async fn as_coordinator<T>(
        &self,
        answer: impl Future<Output = Result<T, LinkError>>,
    ) -> Result<T, ClientError> {
        let role = || Role::Coordinator;
        self.shared.brokers.answer_in_role((&self.address, Duration::ZERO), role, answer).await
    }
}
