//! A member's connection to the broker that coordinates its group.

use std::sync::Arc;
use std::time::Duration;

use crate::client::ClientError;
use crate::client::cluster::{Brokers, Role};
use crate::client::consumer::shared::Shared;
use crate::config::HostPort;
use crate::link::{Connection, LinkError};
use crate::wire::Message;

/// A connection of a member's own to the coordinator: a `JoinGroup` waits for the other members,
/// and must not delay the responses of other requests.
#[derive(Debug)]
pub(super) struct Coordinator {
    shared: Arc<Shared>,
    group: String,
    address: HostPort,
    connection: Connection,
}

impl Coordinator {
    /// Looks up the coordinator of a group, and connects to it.
    pub(super) async fn find(shared: &Arc<Shared>, group: &str) -> Result<Self, ClientError> {
        let address = shared.brokers.coordinator(group).await?;
        let connection = shared.brokers.open(&address).await?;
        Ok(Self { shared: Arc::clone(shared), group: group.to_owned(), address, connection })
    }

    /// Another connection to the same broker.
    pub(super) async fn connect_again(&self) -> Result<Self, ClientError> {
        Ok(Self {
            shared: Arc::clone(&self.shared),
            group: self.group.clone(),
            address: self.address.clone(),
            connection: self.brokers().open(&self.address).await?,
        })
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
        let role = || Role::Coordinator(&self.group);
        self.brokers().answer_in_role((&self.address, Duration::ZERO), role, answer).await
    }

    fn brokers(&self) -> &Brokers {
        &self.shared.brokers
    }
}
