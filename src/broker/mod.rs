//! A broker: serves connections on top of the lower layers.
//!
//! Each core has a shard, a thread with its own connections. Work off the path of records
//! (metadata, groups, opening of logs) runs on the control thread. A handler per API translates
//! requests into calls to the lower layers; one module maps their errors to Kafka's codes.

mod access;
mod authorize;
mod call;
mod config;
mod connection;
mod context;
mod coordinator;
mod dispatch;
mod error;
mod errors;
mod fetch;
#[cfg(feature = "cli")]
mod guard;
mod handlers;
mod isolation;
mod listeners;
mod metadata_store;
mod offline;
mod produce;
mod server;
mod session;
mod settings;
mod topics;
mod unserved;

pub use crate::config::{
    AlwaysFalse, ByteSize, ConfigError, Definition, Fault, HostPort, Key, Kind, Minutes, Settings,
    UpdateMode,
};
#[cfg(feature = "internals")]
pub use crate::engine::Scheduler;
pub use crate::engine::{EngineConfig, EngineError};
pub use crate::group::GroupConfig;
#[cfg(feature = "cli")]
pub(crate) use crate::metadata::SessionObserver;
pub use crate::metadata::{ZooKeeperAddress, ZooKeeperConfig};
pub use config::{BrokerConfig, Verdict};
pub use coordinator::OffsetsTopicConfig;
pub use error::BrokerError;
#[cfg(feature = "cli")]
pub(crate) use guard::{Guard, await_broker, end_session};
pub use listeners::Listener;
#[cfg(feature = "internals")]
pub use offline::{
    DirectoryFinding, RebuiltMetadata, rebuild_metadata, rebuild_on, verify_directory,
    verify_directory_on,
};
#[cfg(not(feature = "internals"))]
pub(crate) use offline::{DirectoryFinding, RebuiltMetadata, rebuild_metadata, verify_directory};
pub use server::Broker;
pub(crate) use server::Surroundings;
#[cfg(feature = "internals")]
pub use server::{OnApplied, SimulatedBroker, Simulation};
