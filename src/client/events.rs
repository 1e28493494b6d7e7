//! Events and figures of a client's connections, for those who watch over a program.

use std::time::Duration;

use crate::types::TopicPartition;

/// A change that a client noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The client reaches its brokers again, after [`Lost`](Self::Lost).
    Connected {
        /// The broker that answered.
        address: String,
        /// Duration of the outage.
        outage: Duration,
    },
    /// The client has lost all brokers: the last connection broke, and no other can be made.
    Lost {
        /// The broker that was tried last.
        address: String,
        /// The cause.
        reason: String,
    },
    /// A broker delayed an answer because the client went beyond its quota.
    Throttled {
        /// The broker.
        address: String,
        /// The delay.
        delay: Duration,
    },
    /// A consumer of the client got its share of a group's partitions.
    Rebalanced {
        /// The group.
        group: String,
        /// Its generation.
        generation: i32,
        /// The consumer's share from now on.
        partitions: Vec<TopicPartition>,
    },
}

/// Figures of a client since it was connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientStats {
    /// Open connections.
    pub connections: usize,
    /// Whether the client has lost all brokers.
    pub is_lost: bool,
    /// Connections made.
    pub connects: u64,
    /// Outages: how often all brokers were lost.
    pub losses: u64,
    /// Requests sent.
    pub requests: u64,
    /// Bytes of requests.
    pub bytes_sent: u64,
    /// Bytes of answers.
    pub bytes_received: u64,
    /// Answers that a quota delayed.
    pub throttled: u64,
    /// Rebalances of groups in which consumers of the client took part.
    pub rebalances: u64,
}
