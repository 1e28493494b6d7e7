//! State shared by all parts of a broker.

use std::sync::Arc;

use crate::broker::BrokerConfig;
use crate::broker::coordinator::Coordinators;
use crate::broker::fetch_session::FetchSessions;
use crate::broker::listeners::Listeners;
use crate::engine::EngineState;
use crate::net::Budget;

/// State shared by all connections of a broker.
pub(crate) struct Shared {
    /// The configuration with which the broker was started.
    pub(crate) config: BrokerConfig,
    /// The listeners.
    pub(crate) listeners: Listeners,
    /// Metadata, partitions and logs.
    pub(crate) engine: Arc<EngineState>,
    /// The group coordinators of this broker.
    pub(crate) coordinators: Arc<Coordinators>,
    /// The fetch sessions of consumers and followers.
    pub(crate) fetch_sessions: FetchSessions,
    /// The memory budget for large requests.
    pub(crate) request_memory: Budget,
}
