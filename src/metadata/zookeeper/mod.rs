//! The store of several brokers: an Apache ZooKeeper ensemble.
//!
//! This is a small client of ZooKeeper's protocol, limited to the needs of a
//! [`Store`](crate::metadata::Store). A task owns the connection of a session. It reconnects to any
//! server of the ensemble as long as the store has not ended the session. Only the store can end a
//! session, never a local clock. `docs/decisions/0021-own-zookeeper-client.md` says why the client
//! is our own.

mod address;
mod calls;
mod config;
mod connection;
mod ensemble;
mod jute;
mod session;
mod session_end;
mod session_task;
mod session_ticket;
mod store;
mod transaction;

pub use address::ZooKeeperAddress;
pub use config::{Digest, ZooKeeperConfig};
pub use session_ticket::{SessionObserver, SessionTicket};
pub use store::ZooKeeperStore;
