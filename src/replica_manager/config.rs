//! The settings of replication between brokers.

use std::time::Duration;

use crate::config::{ByteSize, settings};

/// The name of the setting that the task of preferred leaders looks up in the metadata each time.
pub(super) const REBALANCE: &str = "auto.leader.rebalance.enable";

settings! {
    /// The settings of replication between brokers.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ReplicaConfig {
        /// Name of the listener by which brokers reach each other; this broker must have it too.
        /// Without it, the first listener that each broker registers.
        #[setting("inter.broker.listener.name", String)]
        listener: Option<String> = None,
        /// Bytes of one partition that a follower fetches at once; a larger batch is fetched alone.
        #[setting("replica.fetch.max.bytes", Int in 1 << 10..=1 << 30)]
        partition_max: ByteSize = ByteSize(1 << 20),
        /// Bytes that a follower fetches from a leader at once, over all partitions.
        #[setting("replica.fetch.response.max.bytes", Int in 1 << 10..=1 << 30)]
        response_max: ByteSize = ByteSize(10 << 20),
        /// Milliseconds for which a leader holds a follower's fetch while it has nothing new.
        #[setting("replica.fetch.wait.max.ms", Int in 1..=60_000)]
        wait_max: Duration = Duration::from_millis(500),
        /// Milliseconds between attempts to reach a leader, at most, and before a partition that
        /// failed is fetched again.
        #[setting("replica.fetch.backoff.ms", Int in 10..)]
        backoff: Duration = Duration::from_secs(1),
        /// Milliseconds without an answer after which a follower gives up its connection to a
        /// leader.
        #[setting("replica.socket.timeout.ms", Int in 1_000..)]
        answer_timeout: Duration = Duration::from_secs(30),
        /// Milliseconds for which a follower may lack records before it leaves the in-sync set.
        #[setting("replica.lag.time.max.ms", Long in 500..)]
        lag_max: Duration = Duration::from_secs(10),
        /// Partitions return to their preferred leaders by themselves, once these are in sync.
        #[setting("auto.leader.rebalance.enable", Boolean, PerBroker)]
        auto_rebalance: bool = true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn the_return_of_preferred_leaders_can_be_switched_off_by_its_name() {
        let mut config = ReplicaConfig::default();
        assert!(config.auto_rebalance);
        config.set_named(REBALANCE, "false").unwrap().unwrap();
        assert!(!config.auto_rebalance);
    }
}
