//! The settings of a group member.

use std::time::Duration;

use super::strategy::Strategy;
use crate::config::{SettingValue, settings};

/// The time at which a message's offset is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commit {
    /// After the next message was requested: messages not processed before a crash are read again.
    #[default]
    Processed,
    /// After the message was returned: a message committed before a crash is not read again, even
    /// if it was not processed.
    Received,
    /// At the request of the application.
    Manual,
}

settings! {
    /// The settings of a consumer's group membership.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct GroupConfig {
        /// The group; `None`, or empty, reads without a group.
        #[setting("group.id", String)]
        id: Option<String> = None,
        /// The static member id: a member that returns under the same id gets its assignment back.
        #[setting("group.instance.id", String)]
        instance_id: Option<String> = None,
        /// The time without a heartbeat after which a member is removed from the group.
        #[setting("session.timeout.ms", Long in 1..)]
        session_timeout: Duration = Duration::from_secs(45),
        /// The heartbeat interval.
        #[setting("heartbeat.interval.ms", Long in 1..)]
        heartbeat_interval: Duration = Duration::from_secs(3),
        /// The time that a rebalance waits for members.
        #[setting("max.poll.interval.ms", Long in 1..)]
        rebalance_timeout: Duration = Duration::from_mins(1),
        /// The time at which offsets are committed; as a setting, true or false.
        #[setting("enable.auto.commit", Boolean)]
        commit: Commit = Commit::Processed,
        /// The interval between commits.
        #[setting("auto.commit.interval.ms", Long in 1..)]
        commit_interval: Duration = Duration::from_secs(1),
        /// Assignment strategies in order of preference, range and roundrobin; all members must
        /// have one in common.
        #[setting("partition.assignment.strategy", List)]
        strategies: Vec<Strategy> = vec![Strategy::Range, Strategy::RoundRobin],
    }
}

impl SettingValue for Commit {
    fn parse(text: &str) -> Result<Self, String> {
        bool::parse(text).map(|is_on| if is_on { Self::Processed } else { Self::Manual })
    }

    fn show(&self) -> String {
        (*self != Self::Manual).to_string()
    }
}
