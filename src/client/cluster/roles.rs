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

use super::any_broker::LATE;
use super::brokers::Brokers;
use crate::client::ClientError;
use crate::config::HostPort;
use crate::types::{BrokerId, TopicName, TopicPartition};
use crate::wire::{FindCoordinatorRequest, Message};

/// The role in which a broker is asked.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// It leads at least one of these partitions.
    Leader(Vec<TopicPartition>),
    /// It is the controller, or coordinates a group.
    Coordinator,
}

impl Role {
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
            Some(address) => {
                let answer = self.call_in_role(address, Role::Coordinator, request).await;
                if matches!(answer, Err(ClientError::Connect { .. })) {
                    // The next attempt asks the next controller. If this fails, it fails again.
                    let _ = self.refresh(Some(&[]), false).await;
                }
                answer
            }
            None => self.call_any(request).await,
        }
    }

    /// Returns the address of a group's coordinator.
    pub(crate) async fn coordinator(&self, group: &str) -> Result<HostPort, ClientError> {
        let request = FindCoordinatorRequest {
            key: group.to_owned(),
            coordinator_keys: vec![group.to_owned()],
            ..FindCoordinatorRequest::default()
        };
        let answer = self.call_any(&request).await?;
        let (code, words, host, port) = match answer.coordinators.first() {
            Some(row) => (row.error_code, row.error_message.as_deref(), &row.host, row.port),
            None => (answer.error_code, answer.error_message.as_deref(), &answer.host, answer.port),
        };
        ClientError::check(code, "finding the group's coordinator", words)?;
        Ok(HostPort::new(host.clone(), u16::try_from(port).unwrap_or(0)))
    }

    /// Sends a request to the coordinator of a group.
    pub(crate) async fn call_coordinator<R: Message>(
        &self,
        group: &str,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        let coordinator = self.coordinator(group).await?;
        self.call_in_role(&coordinator, Role::Coordinator, request).await
    }

    /// Sends a request to the broker at `address` over the shared connection, and waits for the
    /// answer as long as it may have this role.
    ///
    /// # Errors
    /// Those of the call, or that another broker has the role.
    pub(crate) async fn call_in_role<R: Message>(
        &self,
        address: &HostPort,
        role: Role,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        let call = self.call(address, request);
        let answer = self.answer_in_role((address, Duration::ZERO), || role, call).await;
        if matches!(&answer, Err(error @ ClientError::Connect { .. }) if !error.is_unconnected()) {
            // What was sent may wait there for long: later requests must not wait behind it.
            self.forget_connection(address);
        }
        answer
    }

    /// Waits for the answer of the broker at `address` as long as it may have this role. It may
    /// wait for `expected` before it answers; later, the others are asked once a second.
    ///
    /// # Errors
    /// Those of the answer, or that another broker has the role.
    pub(crate) async fn answer_in_role<T, E>(
        &self,
        (address, expected): (&HostPort, Duration),
        role: impl FnOnce() -> Role,
        answer: impl Future<Output = Result<T, E>>,
    ) -> Result<T, ClientError>
    where
        ClientError: From<E>,
    {
        let replaced = async {
            sleep(expected.saturating_add(LATE)).await;
            // Its id counts, if it is known: the same broker may be named by several addresses.
            let (id, role) = (self.topology().broker_at(address), role());
            while !self.is_replaced((address, id), &role).await {
                sleep(LATE).await;
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

    /// Returns true if, by what the others say, another broker than this one has the role, or is to
    /// have it: one whose session has ended is no longer in the cluster. A coordinator or
    /// controller that is there answers, and says itself that another has taken over.
    async fn is_replaced(&self, (address, id): (&HostPort, Option<BrokerId>), role: &Role) -> bool {
        let topics = match role {
            Role::Leader(partitions) => partitions.iter().map(|id| &id.topic).collect(),
            Role::Coordinator => BTreeSet::new(),
        };
        let topics: Vec<TopicName> = topics.into_iter().cloned().collect();
        if !self.ask_others(address, &topics).await {
            return false;
        }
        let topology = self.topology();
        match role {
            Role::Leader(partitions) => partitions.iter().all(|partition| {
                let TopicPartition { topic, partition } = partition;
                topology.leader_id(topic, *partition).is_some_and(|leader| match id {
                    Some(id) => leader != id,
                    None => topology.address(leader) != Some(address),
                })
            }),
            Role::Coordinator => match id {
                Some(id) => topology.address(id).is_none(),
                None => topology.broker_at(address).is_none(),
            },
        }
    }

    /// Asks another broker than that at `address` for the metadata of topics. Returns false if none
    /// answers; the cached metadata then stays.
    async fn ask_others(&self, address: &HostPort, topics: &[TopicName]) -> bool {
        for other in self.candidates().iter().filter(|other| *other != address) {
            if let Ok(Ok(())) = timeout(LATE, self.ask(other, topics)).await {
                return true;
            }
        }
        false
    }
}
