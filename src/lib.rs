//! A durable, partitioned log: one engine, used three ways.
//!
//! - **In your process**, [`embedded`]: append, wait until it is on disk, read. No socket between.
//! - **As a broker**, [`broker`]: a value of this process that speaks Apache Kafka's wire protocol,
//!   so that Kafka's clients and tools work with it; the command `streamlog broker` is little more.
//! - **As a client**, [`client`]: a producer and a consumer for any such broker.
//!
//! ```
//! use streamlog::embedded::{Logs, Start};
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path().join("data");
//! let logs = Logs::open(&dir)?;
//! logs.ensure_topic("greetings", 1, &[])?;
//! let greetings = logs.partition("greetings", 0)?;
//! greetings.append(["hello", "world"])?.wait_flushed()?;
//! for record in greetings.read(Start::Earliest)? {
//!     println!("{:?}", record?.value);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What every use has in common: topics are split into partitions, a partition is an append-only
//! log of records with rising offsets, and nothing is shown to a reader before it is on disk. The
//! words of all three, [`types::Offset`] and its kin, are in [`types`]; the format of records is
//! [`record`]'s, the files are [`storage`]'s.
//!
//! The modules are layers, bottom layer first; who may import whom is `tests/tidy/layers.toml`,
//! held by a test.

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

#[doc(hidden)]
pub mod engine;

pub mod broker;

pub mod embedded;

pub mod client;

#[doc(hidden)]
pub mod cli;

#[cfg(feature = "python")]
mod python;
