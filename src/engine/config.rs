//! The settings of an engine. `storage::LogConfig` has the settings of a topic; their defaults for
//! all topics are set here under the names that Kafka gives them on a broker.

use std::path::PathBuf;

use crate::config::{ConfigError, Fault, SettingValue, Settings, settings};
use crate::metadata::MetadataConfig;
use crate::storage::{FlusherOptions, LogConfig, ProducerLimits, UpkeepOptions};
use crate::types::BrokerId;

settings! {
    /// The configuration of an engine. `Default` keeps everything in `streamlog-data`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct EngineConfig {
        /// Directory where records and metadata are kept.
        #[setting("log.dirs", String)]
        #[synonyms("log.dir")]
        data_dir: PathBuf = PathBuf::from("streamlog-data"),
        /// Number of this broker in its cluster, from 0.
        #[setting("broker.id", Int in 0..)]
        #[synonyms("node.id")]
        broker_id: BrokerId = BrokerId(1),
        /// Rack of this broker: the replicas of a partition are placed in different racks.
        #[setting("broker.rack", String)]
        rack: Option<String> = None,
        /// Number of logs that are recovered in parallel after an unclean stop.
        #[setting("num.recovery.threads.per.data.dir", Int in 1..=256)]
        recovery_threads: usize = 2,
    }
    groups {
        /// Defaults and limits of topic creation.
        metadata: MetadataConfig,
        /// The limit of unflushed bytes, beyond which producers wait, and the flush threads.
        flusher: FlusherOptions,
        /// Intervals of retention, compaction and scrubbing, and the largest size of the
        /// directory.
        upkeep: UpkeepOptions,
        /// The limits of the state kept for idempotent producers.
        producers: ProducerLimits,
    }
    others {
        /// The defaults of topic settings.
        log: LogConfig = LogConfig::default(),
    }
}

impl SettingValue for PathBuf {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "" => Err("a directory".to_owned()),
            text if text.contains(',') => Err("one directory".to_owned()),
            text => Ok(Self::from(text)),
        }
    }

    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl EngineConfig {
    /// The default configuration with this data directory.
    pub fn at(data_dir: impl Into<PathBuf>) -> Self {
        Self { data_dir: data_dir.into(), ..Self::default() }
    }

    /// Applies rows of (key, value), under the names that settings have on a broker. If a name
    /// occurs several times, the last row wins.
    ///
    /// # Errors
    /// With every unknown key and every invalid value, or else with every invalid combination.
    pub fn set<'a>(
        &mut self,
        rows: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), ConfigError> {
        let unknown = |name| Err(Fault::unknown(name, Self::names().chain(LogConfig::names())));
        let mut set = |(name, value)| {
            let set = self.set_named(name, value).or_else(|| self.log.set_named(name, value));
            set.unwrap_or_else(|| unknown(name))
        };
        let faults: Vec<_> = rows.into_iter().filter_map(|row| set(row).err()).collect();
        ConfigError::from_faults(faults)?;
        self.validate()
    }

    /// Checks settings against each other.
    ///
    /// # Errors
    /// With every combination that is not valid.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        self.log.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_takes_back_what_it_shows() {
        let config = EngineConfig::default();
        for key in EngineConfig::KEYS {
            let mut copy = config.clone();
            (key.set)(&mut copy, &(key.get)(&config)).unwrap();
            assert_eq!(copy, config, "{}", key.name());
        }
    }

    #[test]
    fn settings_are_known_by_their_names_on_a_broker() {
        let mut config = EngineConfig::default();
        config.set([("log.dirs", "elsewhere"), ("log.segment.bytes", "1 MiB")]).unwrap();
        assert_eq!(config.data_dir, PathBuf::from("elsewhere"));
        assert_eq!(config.log.segment_size.0, 1 << 20);
        let error = config.set([("listeners", "a"), ("flush.threads", "0")]).unwrap_err();
        assert_eq!(error.faults.len(), 2, "{error}");
    }
}
