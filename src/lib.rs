//! A durable, partitioned log: one engine, used in several ways.
//!
//! - **In your process**, [`embedded`]: append, wait until it is on disk, read. No socket between.
//! - **As a broker**, [`broker`]: a value of this process that speaks Apache Kafka's wire protocol,
//!   so that Kafka's clients and tools work with it; the command `streamlog broker` is little more.
//! - **As a cluster in a test**, [`cluster`]: several brokers in this process, with faults on
//!   request.
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
//! All uses share these rules: topics are split into partitions, a partition is an append-only log
//! of records with rising offsets, and nothing is shown to a reader before it is on disk. The types
//! that they share, such as [`types::Offset`], are in [`types`].
//!
//! Each use is a cargo feature: `embedded`, which is the default, `broker` and `client`; `cli` is
//! the command line. The other modules are layers of the implementation, public to the project's
//! own tests alone (feature `internals`). They stand here bottom layer first;
//! `tests/tidy/layers.toml` lists the imports that each may have.

#![cfg_attr(
    not(feature = "internals"),
    expect(
        unreachable_pub,
        unused_imports,
        reason = "layers are public to tests, by the feature `internals`"
    )
)]
#![cfg_attr(
    not(feature = "cli"),
    expect(dead_code, reason = "some features need code of the shared layers that others do not")
)]

pub mod types;

#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod config;
#[cfg(not(feature = "internals"))]
mod config;

#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod io;
#[cfg(not(feature = "internals"))]
mod io;

#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod record;
#[cfg(not(feature = "internals"))]
mod record;

#[cfg(all(feature = "net", feature = "internals"))]
#[doc(hidden)]
pub mod wire;
#[cfg(all(feature = "net", not(feature = "internals")))]
mod wire;

#[cfg(all(feature = "embedded", feature = "internals"))]
#[doc(hidden)]
pub mod storage;
#[cfg(all(feature = "embedded", not(feature = "internals")))]
mod storage;

#[cfg(all(feature = "net", feature = "internals"))]
#[doc(hidden)]
pub mod net;
#[cfg(all(feature = "net", not(feature = "internals")))]
mod net;

#[cfg(all(feature = "net", feature = "internals"))]
#[doc(hidden)]
pub mod link;
#[cfg(all(feature = "net", not(feature = "internals")))]
mod link;

#[cfg(all(feature = "embedded", feature = "internals"))]
#[doc(hidden)]
pub mod metadata;
#[cfg(all(feature = "embedded", not(feature = "internals")))]
mod metadata;

#[cfg(all(feature = "embedded", feature = "internals"))]
#[doc(hidden)]
pub mod replication;
#[cfg(all(feature = "embedded", not(feature = "internals")))]
mod replication;

#[cfg(all(feature = "broker", feature = "internals"))]
#[doc(hidden)]
pub mod group;
#[cfg(all(feature = "broker", not(feature = "internals")))]
mod group;

#[cfg(all(feature = "embedded", feature = "internals"))]
#[doc(hidden)]
pub mod engine;
#[cfg(all(feature = "embedded", not(feature = "internals")))]
mod engine;

#[cfg(all(feature = "broker", feature = "internals"))]
#[doc(hidden)]
pub mod replica_manager;
#[cfg(all(feature = "broker", not(feature = "internals")))]
mod replica_manager;

#[cfg(feature = "broker")]
pub mod broker;

#[cfg(feature = "broker")]
pub mod cluster;

#[cfg(feature = "embedded")]
pub mod embedded;

#[cfg(feature = "client")]
pub mod client;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

#[cfg(feature = "python")]
mod python;
