//! What a broker is without its connections: data, metadata, partitions, and the threads behind.
//!
//! A [`Broker`](crate::broker::Broker) puts connections before it; who embeds the engine uses it as
//! it is, through [`Inside`]. Either way it is the same code, and the same data directory.

mod engine;
mod inside;
mod inspection;
mod matching;
mod rebuild;
mod startup;

pub(crate) use engine::{Engine, control_runtime};
pub(crate) use inside::Inside;
pub use inspection::{DirectoryFinding, verify_directory, verify_directory_on};
pub use rebuild::{RebuiltMetadata, rebuild_metadata, rebuild_on};
pub(crate) use startup::bind;
