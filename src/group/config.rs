//! The settings of the group coordinator.

use std::time::Duration;

use crate::config::{ByteSize, ConfigError, Fault, Minutes, settings};

const MINUTE: Duration = Duration::from_mins(1);

/// The maximum length of a string in a record, whose length field is a signed 16-bit number.
const RECORD_TEXT_MAX: i64 = 32_767;

settings! {
    /// The configuration of the group coordinator.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct GroupConfig {
        /// Minimum session timeout of a group member, in milliseconds.
        #[setting("group.min.session.timeout.ms", Int in 0..)]
        min_session_timeout: Duration = Duration::from_secs(6),
        /// Maximum session timeout of a group member, in milliseconds.
        #[setting("group.max.session.timeout.ms", Int in 0..)]
        max_session_timeout: Duration = 30 * MINUTE,
        /// Milliseconds that the first rebalance of an empty group waits for more members; each
        /// newcomer extends the wait. Kafka's 3000 saves a large deployment some rebalances and
        /// costs every developer three seconds at each start, so the default is small.
        #[setting("group.initial.rebalance.delay.ms", Int in 0..)]
        initial_rebalance_delay: Duration = Duration::from_millis(50),
        /// Maximum number of members of a group.
        #[setting("group.max.size", Int in 1..=1_000_000)]
        max_size: usize = 1_000,
        /// Maximum bytes of subscriptions and assignments of all members of a group; they are
        /// stored as one record of the internal topic.
        #[setting("group.max.bytes", Long)]
        max_bytes: ByteSize = ByteSize(4 << 20),
        /// Maximum number of groups in one partition of the internal topic.
        #[setting("group.max.count", Int in 1..=100_000_000)]
        max_groups: usize = 100_000,
        /// Maximum size of the metadata that a consumer may store with a committed offset.
        #[setting("offset.metadata.max.bytes", Int in 0..=RECORD_TEXT_MAX)]
        offset_metadata_max: ByteSize = ByteSize(4_096),
        /// Minutes for which committed offsets are kept after the last member of their group has
        /// left, or, for consumers without a group, after the last commit.
        #[setting("offsets.retention.minutes", Int in 1..)]
        offsets_retention: Minutes = Minutes(7 * 24 * 60),
        /// Milliseconds between checks for expired committed offsets.
        #[setting("offsets.retention.check.interval.ms", Long)]
        offsets_check_interval: Duration = 10 * MINUTE,
        /// Milliseconds that a commit or an assignment waits to be replicated before the client
        /// gets a retriable error.
        #[setting("offsets.commit.timeout.ms", Int in 0..)]
        commit_timeout: Duration = Duration::from_secs(5),
    }
}

impl GroupConfig {
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
            assert_eq!(config, GroupConfig::default(), "{}", key.name());
            (key.set)(&mut config, "1").unwrap();
            assert_eq!((key.get)(&config), "1", "{}", key.name());
            assert!((key.set)(&mut config, "-1").is_err(), "{}", key.name());
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
        assert_eq!((config.offset_metadata_max, config.max_size), (ByteSize(4096), 7));
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
