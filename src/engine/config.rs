//! The settings of an engine, one row each. `storage::LogConfig` has the settings of a topic; their
//! defaults for all topics are set here under the names that Kafka gives them on a broker.

use std::path::PathBuf;

use crate::config::{ConfigError, Fault, Key, Kind, millis, names, number, set_row, size};
use crate::engine::topic_settings::{broker_names, set_default};
use crate::metadata::MetadataConfig;
use crate::storage::{FlusherOptions, LogConfig, ProducerLimits, ScrubOptions, UpkeepOptions};
use crate::types::BrokerId;

/// The configuration of an engine. `Default` keeps everything in `streamlog-data`.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineConfig {
    /// The directory of records and metadata.
    pub data_dir: PathBuf,
    /// The number of this broker in its cluster.
    pub broker_id: BrokerId,
    /// Defaults and limits of topic creation.
    pub metadata: MetadataConfig,
    /// The limit of unflushed bytes, beyond which producers wait, and the flush threads.
    pub flusher: FlusherOptions,
    /// Intervals of retention, compaction and scrubbing, and the largest size of the directory.
    pub upkeep: UpkeepOptions,
    /// The limits of the state kept for idempotent producers.
    pub producers: ProducerLimits,
    /// The number of logs recovered in parallel after an unclean stop.
    pub recovery_threads: usize,
    /// The defaults of topic settings.
    pub log: LogConfig,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            data_dir: PathBuf::from("streamlog-data"),
            broker_id: BrokerId(1),
            metadata: MetadataConfig::default(),
            flusher: FlusherOptions::default(),
            upkeep: UpkeepOptions::default(),
            producers: ProducerLimits::default(),
            recovery_threads: 2,
            log: LogConfig::default(),
        }
    }
}

impl EngineConfig {
    /// The default configuration with this data directory.
    pub fn at(data_dir: impl Into<PathBuf>) -> Self {
        Self { data_dir: data_dir.into(), ..Self::default() }
    }

    /// Every setting of the engine itself, in the order in which the documentation lists them.
    pub const KEYS: &[Key<Self>] = &[
        Key {
            name: "log.dirs",
            about: "Directory where records and metadata are kept.",
            kind: Kind::String,
            set: |c, text| match text.trim() {
                "" => Err("a directory".to_owned()),
                text if text.contains(',') => Err("one directory".to_owned()),
                text => {
                    c.data_dir = PathBuf::from(text);
                    Ok(())
                }
            },
            get: |c| c.data_dir.display().to_string(),
        },
        Key {
            name: "broker.id",
            about: "Number of this broker in its cluster, from 0.",
            kind: Kind::Int,
            set: |c, text| {
                number(text, 0, i64::from(i32::MAX)).map(|v: i32| c.broker_id = BrokerId(v))
            },
            get: |c| c.broker_id.to_string(),
        },
        Key {
            name: "unflushed.max.bytes",
            about: "Bytes appended and not flushed, over all logs, beyond which producers wait.",
            kind: Kind::Long,
            set: |c, text| size(text, 1 << 20, 1 << 40).map(|v| c.flusher.budget = v),
            get: |c| c.flusher.budget.to_string(),
        },
        Key {
            name: "flush.threads",
            about: "Threads that flush logs.",
            kind: Kind::Int,
            set: |c, text| number(text, 1, 64).map(|v| c.flusher.threads = v),
            get: |c| c.flusher.threads.to_string(),
        },
        Key {
            name: "log.retention.check.interval.ms",
            about: "Milliseconds between checks for segments that have exceeded their retention.",
            kind: Kind::Long,
            set: |c, text| millis(text, 1).map(|v| c.upkeep.retention_interval = v),
            get: |c| c.upkeep.retention_interval.as_millis().to_string(),
        },
        Key {
            name: "log.retention.grace.ms",
            about: "Milliseconds for which nothing is removed by age after the wall clock has \
                    jumped, or differs by more than a day from the end of the last run.",
            kind: Kind::Long,
            set: |c, text| millis(text, 0).map(|v| c.upkeep.retention_grace = v),
            get: |c| c.upkeep.retention_grace.as_millis().to_string(),
        },
        Key {
            name: "data.dir.max.bytes",
            about: "Bytes of all logs beyond which the oldest segments are removed; -1 for no \
                    limit.",
            kind: Kind::Long,
            set: |c, text| match text.trim() {
                "-1" => {
                    c.upkeep.size_max = None;
                    Ok(())
                }
                text => size(text, 1 << 20, 1 << 60).map(|v| c.upkeep.size_max = Some(v)),
            },
            get: |c| c.upkeep.size_max.map_or_else(|| "-1".to_owned(), |size| size.to_string()),
        },
        Key {
            name: "log.cleaner.backoff.ms",
            about: "Milliseconds between checks for logs to compact.",
            kind: Kind::Long,
            set: |c, text| millis(text, 1).map(|v| c.upkeep.compaction.interval = v),
            get: |c| c.upkeep.compaction.interval.as_millis().to_string(),
        },
        Key {
            name: "log.cleaner.dedupe.buffer.size",
            about: "Bytes of memory for the keys of a compaction; further keys wait for the next.",
            kind: Kind::Long,
            set: |c, text| size(text, 1 << 16, 1 << 40).map(|v| c.upkeep.compaction.map_size = v),
            get: |c| c.upkeep.compaction.map_size.to_string(),
        },
        Key {
            name: "log.cleaner.io.max.bytes.per.second",
            about: "Bytes that compaction reads in a second at most; -1 for no limit.",
            kind: Kind::Long,
            set: |c, text| match text.trim() {
                "-1" => {
                    c.upkeep.compaction.rate = None;
                    Ok(())
                }
                text => size(text, 1 << 16, 1 << 40).map(|v| c.upkeep.compaction.rate = Some(v)),
            },
            get: |c| c.upkeep.compaction.rate.map_or_else(|| "-1".to_owned(), |v| v.to_string()),
        },
        Key {
            name: "producer.id.expiration.ms",
            about: "Milliseconds after which the state of an inactive idempotent producer is \
                    removed.",
            kind: Kind::Long,
            set: |c, text| millis(text, 1).map(|v| c.producers.expiration = v),
            get: |c| c.producers.expiration.as_millis().to_string(),
        },
        Key {
            name: "num.recovery.threads.per.data.dir",
            about: "Number of logs that are recovered in parallel after an unclean stop.",
            kind: Kind::Int,
            set: |c, text| number(text, 1, 256).map(|v| c.recovery_threads = v),
            get: |c| c.recovery_threads.to_string(),
        },
    ];

    /// Applies rows of (key, value), under the names that settings have on a broker. If a name
    /// occurs several times, the last row wins.
    ///
    /// # Errors
    /// With every unknown key and every invalid value.
    pub fn set<'a>(
        &mut self,
        rows: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), ConfigError> {
        let unknown = |name| Err(Fault::unknown(name, Self::names().chain(broker_names())));
        let set = |(name, value)| self.set_one(name, value).unwrap_or_else(|| unknown(name));
        let faults: Vec<_> = rows.into_iter().map(set).filter_map(Result::err).collect();
        ConfigError::from_faults(faults)?;
        self.validate()
    }

    /// Applies the setting with this name; `None` if the engine has none.
    pub(crate) fn set_one(&mut self, name: &str, value: &str) -> Option<Result<(), Fault>> {
        set_row(self, Self::KEYS, name, value)
            .or_else(|| set_row(&mut self.metadata, MetadataConfig::KEYS, name, value))
            .or_else(|| set_row(&mut self.upkeep.scrub, ScrubOptions::KEYS, name, value))
            .or_else(|| set_default(&mut self.log, name, value))
    }

    /// The names of the settings that are only read when the engine starts.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        let own = names(Self::KEYS).chain(names(MetadataConfig::KEYS));
        own.chain(names(ScrubOptions::KEYS))
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
            assert_eq!(copy, config, "{}", key.name);
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
