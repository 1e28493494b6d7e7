//! Several brokers in one process, with faults on request: a cluster for tests and demonstrations.
//!
//! A [`LocalCluster`] starts brokers as `streamlog broker` does, each with its own threads and with
//! real sockets on loopback. They share a metadata store in memory with ZooKeeper's semantics.
//! Records are in memory too, on disks that can lose unflushed data. Nothing of a cluster outlives
//! its process, and no fault of a node ends or blocks the process.
//!
//! ```
//! use std::time::Duration;
//!
//! use streamlog::cluster::LocalCluster;
//!
//! let cluster = LocalCluster::start(3)?;
//! println!("clients may connect to {}", cluster.bootstrap());
//! cluster.kill(1)?; // as by `kill -9`
//! cluster.cut(0, 2, false)?; // no bytes pass between these nodes
//! cluster.heal();
//! cluster.start_node(1)?;
//! cluster.wait_in_sync(Duration::from_secs(30))?;
//! # Ok::<(), streamlog::cluster::ClusterError>(())
//! ```
//!
//! | fault | as if | the node's session with the store |
//! |---|---|---|
//! | [`kill`](LocalCluster::kill) | the process was killed; its guard lives | ends at once |
//! | [`lose_power`](LocalCluster::lose_power) | the machine lost its power | ends after its time-out |
//! | [`pause`](LocalCluster::pause) | the process was stopped for a while | ends if the pause is longer |
//! | [`expire`](LocalCluster::expire) | the store had not heard of it for too long | ends at once |
//! | [`lose_store`](LocalCluster::lose_store) | no server of the store answers | goes on afterwards |
//!
//! Calls block, and must not be made inside an asynchronous task.

mod error;
mod freeze;
mod local_cluster;
mod network;
mod node;
mod store_link;

pub use error::ClusterError;
pub use local_cluster::LocalCluster;
pub use network::End;
