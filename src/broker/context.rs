//! What the parts of one broker share, and what is known of one connection.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use crate::broker::BrokerConfig;
use crate::broker::authorize::{Operation, Principal, Resource, authorize};
use crate::broker::control::Control;
use crate::broker::coordinator::Coordinators;
use crate::broker::fetch_session::FetchSessions;
use crate::broker::listeners::Listeners;
use crate::io::Clock;
use crate::metadata::{Image, Metadata};
use crate::net::Budget;
use crate::replication::{LocalLogs, Partitions};

/// What all connections of one broker share.
pub(crate) struct Shared {
    /// How the broker runs.
    pub(crate) config: BrokerConfig,
    /// Where it listens.
    pub(crate) listeners: Listeners,
    /// Where time comes from.
    pub(crate) clock: Arc<dyn Clock>,
    /// What the cluster looks like.
    pub(crate) metadata: Metadata,
    /// The partitions this broker leads.
    pub(crate) partitions: Arc<Partitions>,
    /// Where their logs are.
    pub(crate) logs: Arc<LocalLogs>,
    /// Moves whenever an image has been applied to `partitions`.
    pub(crate) applied: watch::Sender<()>,
    /// The coordinators of the groups here.
    pub(crate) coordinators: Coordinators,
    /// What consumers of many partitions were told last.
    pub(crate) fetch_sessions: FetchSessions,
    /// Work off the way of records.
    pub(crate) control: Control,
    /// Memory for large requests.
    pub(crate) request_memory: Budget,
    /// Cancelled when the broker stops.
    pub(crate) stopping: CancellationToken,
    /// What ended the broker, if anything did.
    pub(crate) failure: Arc<Failure>,
}

/// The end of a broker that nobody asked for.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    reason: OnceLock<String>,
    /// Cancelled when the broker stops, for whatever reason.
    pub(crate) stopping: CancellationToken,
}

impl Failure {
    /// Stops the broker: what it holds can no longer be trusted. The first reason is kept.
    pub(crate) fn report(&self, reason: String) {
        tracing::error!("the broker stops: {reason}");
        let _ = self.reason.set(reason);
        self.stopping.cancel();
    }

    /// Stops the broker if a task has panicked: an invariant does not hold, and nobody knows what
    /// else does not. Its thread goes on, which is why it has to be told.
    pub(crate) fn notice(&self, ended: &JoinError) {
        if ended.is_panic() {
            self.report(ended.to_string());
        }
    }

    /// Why it failed, if it did.
    pub(crate) fn reason(&self) -> Option<String> {
        self.reason.get().cloned()
    }
}

/// What is known of one connection.
#[derive(Debug)]
pub(crate) struct Session {
    /// Who connected.
    pub(crate) peer: SocketAddr,
    /// The address they reached.
    pub(crate) local: SocketAddr,
    /// Whom they act for.
    pub(crate) principal: Principal,
    /// What they said they are: name and version.
    pub(crate) software: RefCell<String>,
    /// Cancelled when nobody waits for answers any more.
    pub(crate) gone: CancellationToken,
}

impl Session {
    /// A connection nothing has been heard from yet.
    pub(crate) fn new(peer: SocketAddr, local: SocketAddr) -> Self {
        Self {
            peer,
            local,
            principal: Principal::anonymous(),
            software: RefCell::default(),
            gone: CancellationToken::new(),
        }
    }

    /// Whether the peer may do this.
    pub(crate) fn may(&self, operation: Operation, resource: Resource<'_>) -> bool {
        authorize(&self.principal, operation, resource)
    }
}

impl Shared {
    /// The cluster as it is now.
    pub(crate) fn image(&self) -> Arc<Image> {
        Arc::clone(&self.metadata.image().borrow())
    }

    /// Waits while so much is unflushed that the kernel might throttle writers.
    pub(crate) async fn unflushed_room(&self) {
        self.logs.flusher.room().await;
    }
}
