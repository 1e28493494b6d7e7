//! Events and metrics of a client's connections, for monitoring.

use std::time::Duration;

use crate::types::TopicPartition;

/// A state change that a client observed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The client reaches a broker again, after [`Lost`](Self::Lost).
    Connected {
        /// The broker that answered.
        address: String,
        /// Duration of the outage.
        outage: Duration,
    },
    /// The client has lost all brokers: the last connection broke, and no other can be made.
    Lost {
        /// The address tried last.
        address: String,
        /// The reason it failed.
        reason: String,
    },
    /// A broker delayed an answer because the client went beyond its quota.
    Throttled {
        /// The broker.
        address: String,
        /// The delay the broker imposed.
        delay: Duration,
    },
    /// A consumer of the client received its assignment after a rebalance.
    Rebalanced {
        /// The group.
        group: String,
        /// Its generation.
        generation: i32,
        /// The partitions assigned to the consumer.
        partitions: Vec<TopicPartition>,
    },
}

/// Metrics of a client since it connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientStats {
    /// Open connections.
    pub connections: usize,
    /// True while no broker can be reached.
    pub is_lost: bool,
    /// Connections made.
    pub connects: u64,
    /// Outages: the number of times all brokers were lost.
    pub losses: u64,
    /// Requests sent.
    pub requests: u64,
    /// Bytes of requests.
    pub bytes_sent: u64,
    /// Bytes of responses.
    pub bytes_received: u64,
    /// Responses that a quota delayed.
    pub throttled: u64,
    /// Rebalances that consumers of the client took part in.
    pub rebalances: u64,
}
