//! What a broker is without its connections: data, metadata, partitions, and the threads behind.
//!
//! A [`Broker`](crate::broker::Broker) puts connections before it; who embeds the engine uses it as
//! it is, through [`Inside`]. Either way it is the same code, and the same data directory.

mod engine;
mod inside;
mod startup;

pub(crate) use engine::{Engine, control_runtime};
pub(crate) use inside::Inside;
pub(crate) use startup::bind;
