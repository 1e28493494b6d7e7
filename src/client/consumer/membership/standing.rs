//! Where a member stands in its group, for its task and its callers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::client::ClientError;
use crate::client::committed;
use crate::client::consumer::membership::GroupConfig;
use crate::client::consumer::membership::calls::{self, Seat};
use crate::client::consumer::shared::Shared;
use crate::config::HostPort;
use crate::io::Gate;
use crate::types::{Offset, TopicPartition};
use crate::wire::ErrorCode;

/// A member's place, while it has one, and its end.
#[derive(Debug)]
pub(crate) struct Standing {
    group: GroupConfig,
    place: Mutex<Option<Place>>,
    /// Cancelled when the member is to leave.
    pub(crate) leaving: CancellationToken,
    /// Cancelled when its task is over.
    pub(crate) over: CancellationToken,
    /// Where callers wait for that.
    pub(crate) changed: Gate,
}

/// Who the member is, and who keeps the group.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) coordinator: HostPort,
    pub(crate) seat: Seat,
}

impl Standing {
    /// Not in the group yet.
    pub(crate) fn new(group: GroupConfig) -> Self {
        Self {
            group,
            place: Mutex::default(),
            leaving: CancellationToken::new(),
            over: CancellationToken::new(),
            changed: Gate::new(),
        }
    }

    /// The settings.
    pub(crate) fn group(&self) -> &GroupConfig {
        &self.group
    }

    /// The member's place, if it has one.
    pub(crate) fn place(&self) -> Option<Place> {
        self.lock().clone()
    }

    /// The member got a place, or lost it.
    pub(crate) fn set_place(&self, place: Option<Place>) {
        *self.lock() = place;
    }

    /// The task is over.
    pub(crate) fn end(&self) {
        self.set_place(None);
        self.over.cancel();
        self.changed.wake_all();
    }

    /// Waits until the member has its share, or its consumer is closed.
    ///
    /// # Errors
    /// Why it will never have one, and [`ClientError::Timeout`].
    pub(crate) async fn placed(&self, shared: &Shared) -> Result<(), ClientError> {
        let elapsed = shared.brokers.config().timeout.max(self.group.rebalance_timeout);
        let attempt = || match shared.arrivals.failure() {
            Some(error) => Some(Err(error)),
            None => (self.place().is_some() || shared.arrivals.is_closed()).then_some(Ok(())),
        };
        let placed = timeout(elapsed, shared.arrivals.changed().until(attempt)).await;
        let operation = "joining the group";
        placed.map_err(|_| ClientError::Timeout { operation, elapsed, last_error: None })?
    }

    /// Stores offsets of the member's share for the group.
    pub(crate) async fn commit(
        &self,
        shared: &Shared,
        offsets: &[(TopicPartition, Offset)],
    ) -> Result<(), ClientError> {
        if offsets.is_empty() {
            return Ok(());
        }
        let refused = |code, about: &str| Err(ClientError::from_code(code, about, None));
        let Some(place) = self.place() else {
            if let Some(error) = shared.arrivals.failure() {
                return Err(error);
            }
            // As the broker would say: a rebalance is under way, or the member is not known.
            return refused(ErrorCode::RebalanceInProgress, "committing offsets");
        };
        // The broker knows the member, not its share. Who looked at the share first could commit
        // what it has lost with the place of the generation in which it has lost it.
        let share = shared.assignment.assigned();
        if let Some((lost, _)) = offsets.iter().find(|(partition, _)| !share.contains(partition)) {
            let about = format!("{lost} is not this member's any more");
            return refused(ErrorCode::IllegalGeneration, &about);
        }
        let request = calls::commit(&self.group, &place.seat, offsets);
        let answer = shared.brokers.call(&place.coordinator, &request).await?;
        committed::check(&answer)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Place>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
