//! Requests to the broker that has a role, and answers that never come, because another broker has
//! taken over.
//!
//! A broker that is paused, or cut off with its connections open, answers nothing, and only the
//! time limit of a request ends the wait for it. The others know much earlier who has its role
//! instead.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::brokers::Brokers;
use crate::client::ClientError;
use crate::config::HostPort;
use crate::types::{TopicName, TopicPartition};
use crate::wire::{FindCoordinatorRequest, FindCoordinatorResponse, Message};

/// The time after which an answer is late, and the pause between two questions to other brokers.
const LATE: Duration = Duration::from_secs(1);

/// The role in which a broker is asked.
#[derive(Clone, Debug)]
pub(crate) enum Role<'a> {
    /// It leads at least one of these partitions.
    Leader(Vec<TopicPartition>),
    /// It coordinates the group with this id.
    Coordinator(&'a str),
    /// It is the controller.
    Controller,
}

impl Role<'_> {
    /// The role of a partition's leader.
    pub(crate) fn leader(partition: &TopicPartition) -> Self {
        Self::Leader(vec![partition.clone()])
    }
}

impl Brokers {
    /// Sends a request to the controller, or to any broker while no controller is known.
    pub(crate) async fn call_controller<R: Message>(
        &self,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        match self.topology().controller() {
            Some(address) => self.call_in_role(address, Role::Controller, request).await,
            None => self.call_any(request).await,
        }
    }

    /// Returns the address of a group's coordinator.
    pub(crate) async fn coordinator(&self, group: &str) -> Result<HostPort, ClientError> {
        read_coordinator(&self.call_any(&coordinator_of(group)).await?)
    }

    /// As `coordinator`, as the broker at `address` says.
    async fn coordinator_by(
        &self,
        address: &HostPort,
        group: &str,
    ) -> Result<HostPort, ClientError> {
        read_coordinator(&self.call(address, &coordinator_of(group)).await?)
    }

    /// Sends a request to the coordinator of a group.
    pub(crate) async fn call_coordinator<R: Message>(
        &self,
        group: &str,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        let coordinator = self.coordinator(group).await?;
        self.call_in_role(&coordinator, Role::Coordinator(group), request).await
    }

    /// Sends a request to the broker at `address` over the shared connection, and waits for the
    /// answer as long as it may have this role.
    ///
    /// # Errors
    /// Those of the call, or that another broker has the role.
    pub(crate) async fn call_in_role<R: Message>(
        &self,
        address: &HostPort,
        role: Role<'_>,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        self.answer_in_role((address, Duration::ZERO), || role, self.call(address, request)).await
    }

    /// Waits for the answer of the broker at `address` as long as it may have this role. It may
    /// wait for `expected` before it answers; later, the others are asked once a second.
    ///
    /// # Errors
    /// Those of the answer, or that another broker has the role.
    pub(crate) async fn answer_in_role<'a, T, E>(
        &self,
        (address, expected): (&HostPort, Duration),
        role: impl FnOnce() -> Role<'a>,
        answer: impl Future<Output = Result<T, E>>,
    ) -> Result<T, ClientError>
    where
        ClientError: From<E>,
    {
        let replaced = async {
            sleep(expected).await;
            let role = role();
            loop {
                sleep(LATE).await;
                if self.is_replaced(address, &role).await {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            answer = answer => Ok(answer?),
            () = replaced => {
                Err(ClientError::unreachable(address, "no answer, and another broker took over"))
            }
        }
    }

    /// Returns true if, by what the others say, another broker than that at `address` has the role.
    async fn is_replaced(&self, address: &HostPort, role: &Role<'_>) -> bool {
        match role {
            Role::Leader(partitions) => {
                let topics: BTreeSet<&TopicName> = partitions.iter().map(|id| &id.topic).collect();
                let topics: Vec<TopicName> = topics.into_iter().cloned().collect();
                self.ask_others(address, &topics).await;
                let topology = self.topology();
                partitions.iter().all(|TopicPartition { topic, partition }| {
                    topology.leader(topic, *partition).is_some_and(|leader| leader != address)
                })
            }
            Role::Coordinator(group) => {
                for other in self.others(address) {
                    if let Ok(Ok(found)) = timeout(LATE, self.coordinator_by(&other, group)).await {
                        return found != *address;
                    }
                }
                false
            }
            Role::Controller => {
                self.ask_others(address, &[]).await;
                self.topology().controller().is_some_and(|controller| controller != address)
            }
        }
    }

    /// Asks another broker than that at `address` for the metadata of topics. If none answers, the
    /// cached metadata stays.
    async fn ask_others(&self, address: &HostPort, topics: &[TopicName]) {
        for other in self.others(address) {
            if let Ok(Ok(())) = timeout(LATE, self.ask(&other, topics)).await {
                return;
            }
        }
    }

    fn others(&self, address: &HostPort) -> Vec<HostPort> {
        let mut others = self.candidates();
        others.retain(|other| other != address);
        others
    }
}

fn coordinator_of(group: &str) -> FindCoordinatorRequest {
    FindCoordinatorRequest {
        key: group.to_owned(),
        coordinator_keys: vec![group.to_owned()],
        ..FindCoordinatorRequest::default()
    }
}

fn read_coordinator(answer: &FindCoordinatorResponse) -> Result<HostPort, ClientError> {
    let (code, words, host, port) = match answer.coordinators.first() {
        Some(row) => (row.error_code, row.error_message.as_deref(), &row.host, row.port),
        None => (answer.error_code, answer.error_message.as_deref(), &answer.host, answer.port),
    };
    ClientError::check(code, "finding the group's coordinator", words)?;
    Ok(HostPort::new(host.clone(), u16::try_from(port).unwrap_or(0)))
}
