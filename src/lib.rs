//! A durable, partitioned log that speaks Apache Kafka's wire protocol.
//!
//! Bottom layer first; who may import whom is `tests/tidy/layers.toml`, held by a test.

pub mod types;

pub mod config;

pub mod io;

pub mod record;

#[doc(hidden)]
pub mod wire;

pub mod storage;

#[doc(hidden)]
pub mod net;

#[doc(hidden)]
pub mod metadata;

#[doc(hidden)]
pub mod replication;

#[doc(hidden)]
pub mod group;

pub mod broker;

pub mod client;

#[doc(hidden)]
pub mod cli;

#[cfg(feature = "python")]
mod python;
