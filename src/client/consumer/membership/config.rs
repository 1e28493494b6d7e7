//! The settings of a group member.

use std::time::Duration;

use super::assignors::Strategy;
use crate::client::ConsumerConfig;
use crate::config::{Key, Kind, millis, switch};

/// The time at which a message's offset is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commit {
    /// After the next message was requested: messages not processed before a crash are read again.
    #[default]
    Processed,
    /// After the message was returned: it is not read again after a crash.
    Received,
    /// At the request of the application.
    Manual,
}

/// The settings of a consumer's group membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// The group; `None` reads without a group.
    pub id: Option<String>,
    /// The static member id: a member that returns under the same id gets its assignment back.
    pub instance_id: Option<String>,
    /// The time without a heartbeat after which a member is removed from the group.
    pub session_timeout: Duration,
    /// The heartbeat interval.
    pub heartbeat_interval: Duration,
    /// The time that a rebalance waits for members.
    pub rebalance_timeout: Duration,
    /// The time at which offsets are committed.
    pub commit: Commit,
    /// The interval between commits.
    pub commit_interval: Duration,
    /// Assignment strategies in order of preference; all members must have one in common.
    pub strategies: Vec<Strategy>,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            id: None,
            instance_id: None,
            session_timeout: Duration::from_secs(45),
            heartbeat_interval: Duration::from_secs(3),
            rebalance_timeout: Duration::from_mins(1),
            commit: Commit::Processed,
            commit_interval: Duration::from_secs(1),
            strategies: vec![Strategy::Range, Strategy::RoundRobin],
        }
    }
}

impl GroupConfig {
    /// The settings of a member, set through its consumer.
    pub const KEYS: &[Key<ConsumerConfig>] = &[
        Key {
            name: "group.id",
            about: "Consumer group; empty to read without a group.",
            kind: Kind::String,
            set: |c, text| {
                c.group.id = filled(text);
                Ok(())
            },
            get: |c| c.group.id.clone().unwrap_or_default(),
        },
        Key {
            name: "group.instance.id",
            about: "Static member id, which keeps the assignment across restarts.",
            kind: Kind::String,
            set: |c, text| {
                c.group.instance_id = filled(text);
                Ok(())
            },
            get: |c| c.group.instance_id.clone().unwrap_or_default(),
        },
        Key {
            name: "session.timeout.ms",
            about: "Time without a heartbeat after which a member is removed.",
            kind: Kind::Int,
            set: |c, text| millis(text, 1).map(|v| c.group.session_timeout = v),
            get: |c| c.group.session_timeout.as_millis().to_string(),
        },
        Key {
            name: "heartbeat.interval.ms",
            about: "Interval between heartbeats.",
            kind: Kind::Int,
            set: |c, text| millis(text, 1).map(|v| c.group.heartbeat_interval = v),
            get: |c| c.group.heartbeat_interval.as_millis().to_string(),
        },
        Key {
            name: "max.poll.interval.ms",
            about: "Time that a rebalance waits for members.",
            kind: Kind::Int,
            set: |c, text| millis(text, 1).map(|v| c.group.rebalance_timeout = v),
            get: |c| c.group.rebalance_timeout.as_millis().to_string(),
        },
        Key {
            name: "enable.auto.commit",
            about: "Commits offsets once the next message is requested.",
            kind: Kind::Boolean,
            set: |c, text| {
                let commit = |on| if on { Commit::Processed } else { Commit::Manual };
                switch(text).map(|on| c.group.commit = commit(on))
            },
            get: |c| (c.group.commit != Commit::Manual).to_string(),
        },
        Key {
            name: "auto.commit.interval.ms",
            about: "Interval between commits.",
            kind: Kind::Int,
            set: |c, text| millis(text, 1).map(|v| c.group.commit_interval = v),
            get: |c| c.group.commit_interval.as_millis().to_string(),
        },
        Key {
            name: "partition.assignment.strategy",
            about: "Assignment strategies in order of preference: range, roundrobin.",
            kind: Kind::List,
            set: |c, text| {
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                let parsed: Result<Vec<Strategy>, String> = words.map(str::parse).collect();
                c.group.strategies = parsed?;
                if c.group.strategies.is_empty() { Err("range, roundrobin".into()) } else { Ok(()) }
            },
            get: |c| {
                let names: Vec<&str> = c.group.strategies.iter().map(|s| s.name()).collect();
                names.join(",")
            },
        },
    ];
}

fn filled(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
