//! The state of a member in its group, shared by its task and the consumer's callers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::client::ClientError;
use crate::client::cluster::Role;
use crate::client::committed;
use crate::client::consumer::config::GroupConfig;
use crate::client::consumer::membership::calls::{self, MemberIdentity};
use crate::client::consumer::shared::Shared;
use crate::config::HostPort;
use crate::io::Gate;
use crate::types::{Offset, TopicPartition};
use crate::wire::ErrorCode;

/// The membership of a consumer, and the signals to end it.
#[derive(Debug)]
pub(crate) struct Membership {
    group: GroupConfig,
    joined: Mutex<Option<Joined>>,
    /// Cancelled to make the member leave.
    pub(crate) leaving: CancellationToken,
    /// Cancelled when the membership task has ended.
    pub(crate) over: CancellationToken,
    /// Notified when the membership task has ended.
    pub(crate) changed: Gate,
}

/// The member's id and generation, with the coordinator that assigned them.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    pub(crate) coordinator: HostPort,
    pub(crate) identity: MemberIdentity,
}

impl Membership {
    /// A member that has not joined yet.
    pub(crate) fn new(group: GroupConfig) -> Self {
        Self {
            group,
            joined: Mutex::default(),
            leaving: CancellationToken::new(),
            over: CancellationToken::new(),
            changed: Gate::new(),
        }
    }

    /// The group settings.
    pub(crate) fn group(&self) -> &GroupConfig {
        &self.group
    }

    /// The current membership, if there is one.
    pub(crate) fn joined(&self) -> Option<Joined> {
        self.lock().clone()
    }

    /// Sets or clears the current membership.
    pub(crate) fn set_joined(&self, joined: Option<Joined>) {
        *self.lock() = joined;
    }

    /// Replaces the coordinator of the current membership: another broker may have taken over.
    pub(crate) fn set_coordinator(&self, coordinator: &HostPort) {
        if let Some(joined) = &mut *self.lock() {
            joined.coordinator = coordinator.clone();
        }
    }

    /// Marks the membership task as ended.
    pub(crate) fn end(&self) {
        self.set_joined(None);
        self.over.cancel();
        self.changed.wake_all();
    }

    /// Waits until the member has an assignment, or its consumer is closed.
    ///
    /// # Errors
    /// The error that ended the membership, and [`ClientError::Timeout`].
    pub(crate) async fn wait_assigned(&self, shared: &Shared) -> Result<(), ClientError> {
        let elapsed = shared.brokers.config().timeout.max(self.group.rebalance_timeout);
        let attempt = || match shared.arrivals.failure() {
            Some(error) => Some(Err(error)),
            None => (self.joined().is_some() || shared.arrivals.is_closed()).then_some(Ok(())),
        };
        let assigned = timeout(elapsed, shared.arrivals.changed().until(attempt)).await;
        let operation = "joining the group";
        assigned.map_err(|_| ClientError::Timeout { operation, elapsed, last_error: None })?
    }

    /// Commits offsets of partitions that are assigned to this member.
    pub(crate) async fn commit(
        &self,
        shared: &Shared,
        offsets: &[(TopicPartition, Offset)],
    ) -> Result<(), ClientError> {
        if offsets.is_empty() {
            return Ok(());
        }
        let refused = |code, about: &str| Err(ClientError::from_code(code, about, None));
        let Some(joined) = self.joined() else {
            if let Some(error) = shared.arrivals.failure() {
                return Err(error);
            }
            // Return the error that a broker returns to members during a rebalance.
            return refused(ErrorCode::RebalanceInProgress, "committing offsets");
        };
        // The broker checks the generation, not the assignment, so check it here. Read the
        // generation first: in the other order, a rebalance in between would commit offsets of a
        // lost partition under the new generation.
        let share = shared.assignment.assigned();
        if let Some((lost, _)) = offsets.iter().find(|(partition, _)| !share.contains(partition)) {
            let about = format!("{lost} is no longer assigned to this member");
            return refused(ErrorCode::IllegalGeneration, &about);
        }
        let epochs = shared.assignment.epochs_before(offsets);
        let request = calls::commit(&self.group, &joined.identity, (offsets, &epochs));
        let (brokers, role) = (&shared.brokers, Role::Coordinator);
        let answer = brokers.call_in_role(&joined.coordinator, role, &request).await?;
        committed::check(&answer)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Joined>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
