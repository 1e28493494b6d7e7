//! The settings of the group coordinator.

use std::time::Duration;

use crate::config::{ByteSize, ConfigError, Fault, Key, Kind, millis, number, size};

/// The configuration of the group coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// The minimum session timeout of a member.
    pub min_session_timeout: Duration,
    /// The maximum session timeout of a member.
    pub max_session_timeout: Duration,
    /// The time that the first rebalance of an empty group waits for more members.
    pub initial_rebalance_delay: Duration,
    /// The maximum number of members of a group.
    pub max_size: usize,
    /// The maximum number of bytes that the members of a group hold.
    pub max_bytes: ByteSize,
    /// The maximum number of groups of one coordinator.
    pub max_groups: usize,
    /// The maximum size of the metadata of a committed offset.
    pub offset_metadata_max: usize,
    /// The time that offsets are kept after their group was last in use.
    pub offsets_retention: Duration,
    /// The interval between checks for expired offsets.
    pub offsets_check_interval: Duration,
    /// The maximum time that a response waits for its records to be replicated.
    pub commit_timeout: Duration,
}

const MINUTE: Duration = Duration::from_mins(1);

/// The maximum length of a string in a record, whose length field is a signed 16-bit number.
const RECORD_TEXT_MAX: usize = 32_767;

/// The maximum value of a setting of type `Int`.
const INT_MAX: i64 = i32::MAX as i64;

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            min_session_timeout: Duration::from_secs(6),
            max_session_timeout: 30 * MINUTE,
            initial_rebalance_delay: Duration::from_millis(50),
            max_size: 1_000,
            max_bytes: ByteSize(4 << 20),
            max_groups: 100_000,
            offset_metadata_max: 4_096,
            offsets_retention: 7 * 24 * 60 * MINUTE,
            offsets_check_interval: 10 * MINUTE,
            commit_timeout: Duration::from_secs(5),
        }
    }
}

impl GroupConfig {
    /// Every setting of the coordinator, in the order of the documentation.
    pub const KEYS: &[Key<Self>] = &[
        Key {
            name: "group.min.session.timeout.ms",
            about: "Minimum session timeout of a group member, in milliseconds.",
            kind: Kind::Int,
            set: |c, text| int_millis(text).map(|v| c.min_session_timeout = v),
            get: |c| c.min_session_timeout.as_millis().to_string(),
        },
        Key {
            name: "group.max.session.timeout.ms",
            about: "Maximum session timeout of a group member, in milliseconds.",
            kind: Kind::Int,
            set: |c, text| int_millis(text).map(|v| c.max_session_timeout = v),
            get: |c| c.max_session_timeout.as_millis().to_string(),
        },
        Key {
            name: "group.initial.rebalance.delay.ms",
            about: "Milliseconds that the first rebalance of an empty group waits for more \
                    members; each newcomer extends the wait. Kafka's 3000 saves a large \
                    deployment some rebalances and costs every developer three seconds at each \
                    start, so the default is small.",
            kind: Kind::Int,
            set: |c, text| int_millis(text).map(|v| c.initial_rebalance_delay = v),
            get: |c| c.initial_rebalance_delay.as_millis().to_string(),
        },
        Key {
            name: "group.max.size",
            about: "Maximum number of members of a group.",
            kind: Kind::Int,
            set: |c, text| number(text, 1, 1_000_000).map(|v| c.max_size = v),
            get: |c| c.max_size.to_string(),
        },
        Key {
            name: "group.max.bytes",
            about: "Maximum bytes of subscriptions and assignments of all members of a group; \
                    they are stored as one record of the internal topic.",
            kind: Kind::Long,
            set: |c, text| text.parse().map(|v| c.max_bytes = v),
            get: |c| c.max_bytes.to_string(),
        },
        Key {
            name: "group.max.count",
            about: "Maximum number of groups in one partition of the internal topic.",
            kind: Kind::Int,
            set: |c, text| number(text, 1, 100_000_000).map(|v| c.max_groups = v),
            get: |c| c.max_groups.to_string(),
        },
        Key {
            name: "offset.metadata.max.bytes",
            about: "Maximum size of the metadata that a consumer may store with a committed \
                    offset.",
            kind: Kind::Int,
            set: |c, text| {
                let fitting = size(text, 0, RECORD_TEXT_MAX as u64)?;
                c.offset_metadata_max = usize::try_from(fitting.0).unwrap_or(RECORD_TEXT_MAX);
                Ok(())
            },
            get: |c| c.offset_metadata_max.to_string(),
        },
        Key {
            name: "offsets.retention.minutes",
            about: "Minutes for which committed offsets are kept after the last member of their \
                    group has left, or, for consumers without a group, after the last commit.",
            kind: Kind::Int,
            set: |c, text| number(text, 1, INT_MAX).map(|v: u32| c.offsets_retention = v * MINUTE),
            get: |c| (c.offsets_retention.as_secs() / 60).to_string(),
        },
        Key {
            name: "offsets.retention.check.interval.ms",
            about: "Milliseconds between checks for expired committed offsets.",
            kind: Kind::Long,
            set: |c, text| millis(text, 0).map(|v| c.offsets_check_interval = v),
            get: |c| c.offsets_check_interval.as_millis().to_string(),
        },
        Key {
            name: "offsets.commit.timeout.ms",
            about: "Milliseconds that a commit or an assignment waits to be replicated before the \
                    client gets a retriable error.",
            kind: Kind::Int,
            set: |c, text| int_millis(text).map(|v| c.commit_timeout = v),
            get: |c| c.commit_timeout.as_millis().to_string(),
        },
    ];

    /// Checks settings against each other.
    ///
    /// # Errors
    /// If the minimum session timeout exceeds the maximum.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.min_session_timeout <= self.max_session_timeout {
            return Ok(());
        }
        ConfigError::from_faults(vec![Fault::invalid(
            "group.min.session.timeout.ms",
            &self.min_session_timeout.as_millis().to_string(),
            format!(
                "at most group.max.session.timeout.ms, which is {}",
                self.max_session_timeout.as_millis()
            ),
        )])
    }
}

/// Parses the milliseconds of a setting of type `Int`.
fn int_millis(text: &str) -> Result<Duration, String> {
    number(text, 0, INT_MAX).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::set_all;

    #[test]
    fn every_setting_takes_what_it_shows() {
        for key in GroupConfig::KEYS {
            let mut config = GroupConfig::default();
            let shown = (key.get)(&config);
            (key.set)(&mut config, &shown).unwrap();
            assert_eq!(config, GroupConfig::default(), "{}", key.name);
            (key.set)(&mut config, "1").unwrap();
            assert_eq!((key.get)(&config), "1", "{}", key.name);
            assert!((key.set)(&mut config, "-1").is_err(), "{}", key.name);
        }
    }

    #[test]
    fn values_are_written_as_everywhere() {
        let mut config = GroupConfig::default();
        set_all(
            &mut config,
            GroupConfig::KEYS,
            [
                ("offset.metadata.max.bytes", "4 KiB"),
                ("group.max.size", " 7 "),
                ("offsets.commit.timeout.ms", " 900 "),
                // Larger than an Int, but valid as in Kafka: this setting is a Long.
                ("offsets.retention.check.interval.ms", "3000000000"),
            ],
        )
        .unwrap();
        assert_eq!((config.offset_metadata_max, config.max_size), (4096, 7));
        assert_eq!(config.commit_timeout, Duration::from_millis(900));
        assert_eq!(config.offsets_check_interval, Duration::from_mins(50_000));
        for too_much in [
            ("group.max.session.timeout.ms", "3000000000"),
            ("offset.metadata.max.bytes", "32 KiB"),
            ("group.max.bytes", "-1"),
        ] {
            assert!(set_all(&mut config, GroupConfig::KEYS, [too_much]).is_err(), "{too_much:?}");
        }
    }

    #[test]
    fn a_shortest_session_above_the_longest_is_a_fault() {
        let mut config = GroupConfig::default();
        set_all(&mut config, GroupConfig::KEYS, [("group.max.session.timeout.ms", "5000")])
            .unwrap();
        let error = config.validate().unwrap_err().to_string();
        assert!(error.contains("group.min.session.timeout.ms: invalid value '6000'"), "{error}");
    }
}
