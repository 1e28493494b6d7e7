//! A node without connections: data directory, metadata, partitions, and the threads behind them.
//!
//! A [`Broker`](crate::broker::Broker) adds connections and group coordinators; an embedding
//! program uses the engine directly. The code and the data directory are the same in both cases.

mod config;
mod control;
mod defaults;
mod error;
mod failure;
mod handle;
mod lifecycle;
mod local_data;
mod losses;
mod matching;
mod startup;
mod state;
mod topic_settings;
mod topics;
mod topology;

pub use config::EngineConfig;
#[cfg(feature = "internals")]
pub use control::Scheduler;
pub(crate) use control::{Control, Executor, Unavailable};
pub(crate) use defaults::{log_defaults, overlay};
pub use error::EngineError;
pub(crate) use failure::Failure;
pub(crate) use handle::EngineHandle;
pub(crate) use lifecycle::{Engine, control_runtime};
pub(crate) use losses::{Losses, Replacement};
pub(crate) use matching::strays;
pub(crate) use startup::METADATA_DIR;
pub(crate) use state::{EngineState, Environment, NoListener, PartitionsListener};
pub(crate) use topic_settings::{OFFSET_UNIT, check_configs, produce_rules, resolve};
pub(crate) use topics::{
    APPLIED_WITHIN, applied, caught_up, check_new_topic, create_topic, delete_topic, led,
    with_fixed_settings,
};
