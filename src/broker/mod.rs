//! A broker: connections in, the layers below, answers out.
//!
//! Each core has a shard, a thread with its own connections. What is not on the way of records
//! (metadata, groups, opening of logs) runs on the control thread. A handler per API turns requests
//! into calls to the layers below; their errors become Kafka's codes in one place.

mod authorize;
mod config;
mod connection;
mod context;
mod control;
mod coordinator;
mod core;
mod dispatch;
mod error;
mod errors;
mod fetch_session;
mod handlers;
mod isolation;
mod listeners;
mod server;
mod settings;
mod topic_settings;
mod topics;
mod topology;
mod unserved;

pub use crate::config::HostPort;
pub use config::{BrokerConfig, Verdict};
pub use coordinator::OffsetsTopicConfig;
pub use core::{
    DirectoryFinding, RebuiltMetadata, rebuild_metadata, rebuild_on, verify_directory,
    verify_directory_on,
};
pub(crate) use core::{Engine, Inside, control_runtime};
pub use error::BrokerError;
pub use listeners::Listener;
pub use server::Broker;
pub(crate) use topic_settings::produce_rules;
