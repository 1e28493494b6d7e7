//! The settings of a broker. `storage::LogConfig` declares the settings of a topic. A broker sets
//! their defaults for all topics under the names that Kafka gives them on a broker.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::broker::listeners::{check_inter_broker, check_listeners};
use crate::broker::{Listener, OffsetsTopicConfig, unserved};
use crate::config::{
    ByteSize, ConfigError, Fault, Settings, in_unit_of, read_properties, read_toml, settings,
    unit_millis,
};
use crate::engine::EngineConfig;
use crate::group::GroupConfig;
use crate::io::{SystemDisk, read_text};
use crate::metadata::ZooKeeperConfig;
use crate::replica_manager::ReplicaConfig;
use crate::storage::LogConfig;

/// Names that Kafka ignores if the same setting is also given under its other name.
const OUTRANKED: &[&str] = &["broker.id", "log.dir"];

/// The effect of a row on a broker's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The row takes effect.
    Honoured,
    /// The row has no effect, for this reason: the setting has no meaning here, or another row of
    /// the same source sets it too.
    Ignored(String),
    /// The broker refuses to start with the row, for this reason.
    Refused(String),
}

settings! {
    /// The configuration of a broker. `Default` is a broker for one machine: loopback, port 9092,
    /// data in the working directory.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BrokerConfig {
        /// Addresses to listen on: [NAME://]HOST:PORT, ...; port 0 takes any free one.
        #[setting("listeners", List)]
        listeners: Vec<Listener> = Listener::alone("127.0.0.1", 9092),
        /// Addresses that the clients of these listeners are told to connect to:
        /// [NAME://]HOST:PORT, ...; without one, each is told the address it reached.
        #[setting("advertised.listeners", List)]
        advertised_listeners: Vec<Listener> = Vec::new(),
        /// Protocols of named listeners: NAME:PLAINTEXT, ...; there is no other yet.
        #[setting("listener.security.protocol.map", List)]
        listener_protocols: BTreeMap<String, String> = BTreeMap::new(),
        /// Threads that serve connections; 0 for one per core.
        #[setting("num.network.threads", Int in 0..=1024)]
        shards: usize = 0,
        /// Creates a topic when a client produces to it or requests its metadata.
        #[setting("auto.create.topics.enable", Boolean, PerBroker)]
        auto_create_topics: bool = true,
        /// Bytes of the largest request; a connection that announces more is closed.
        #[setting("socket.request.max.bytes", Int in 1 << 10..=1 << 30)]
        frame_max: ByteSize = ByteSize(100 << 20),
        /// Bytes of memory for all large requests together; further requests wait to be read.
        #[setting("queued.max.request.bytes", Long in 1 << 20..=1 << 40)]
        request_memory: ByteSize = ByteSize(256 << 20),
        /// Maximum number of connections; further ones are closed immediately.
        #[setting("max.connections", Int in 1..=1 << 24, PerBroker)]
        connections_max: usize = 10_000,
        /// Maximum number of connections from one address.
        #[setting("max.connections.per.ip", Int in 1..=1 << 24, PerBroker)]
        connections_max_per_ip: usize = 10_000,
        /// Maximum number of fetch sessions; clients without one get full responses.
        #[setting("max.incremental.fetch.session.cache.slots", Int in 0..=1 << 20)]
        fetch_sessions_max: usize = 1000,
        /// Milliseconds after which an idle connection is closed.
        #[setting("connections.max.idle.ms", Long in 1_000..)]
        connections_idle: Duration = Duration::from_mins(10),
        /// Milliseconds in which a request that has begun must arrive, and a response be accepted.
        #[setting("transfer.deadline.ms", Long in 100..)]
        transfer_deadline: Duration = Duration::from_secs(30),
    }
    groups {
        /// The engine: data directory, flushing, retention, topic defaults.
        engine: EngineConfig,
        /// The configuration of the group coordinators.
        group: GroupConfig,
        /// The configuration of the internal topic of groups.
        offsets_topic: OffsetsTopicConfig,
        /// The ensemble that keeps the metadata, if the broker does not keep it itself.
        zookeeper: ZooKeeperConfig,
        /// The configuration of replication between brokers.
        replica: ReplicaConfig,
    }
}

impl BrokerConfig {
    /// Reads the rows of a settings file: properties if its name ends in `.properties`, otherwise
    /// TOML.
    ///
    /// # Errors
    /// If the file cannot be read or parsed.
    pub fn read_file(path: &Path) -> Result<Vec<(String, String)>, ConfigError> {
        let name = path.display().to_string();
        let text = read_text(&SystemDisk::default(), path)
            .map_err(|error| ConfigError::single(&name, format!("cannot be read: {error}")))?;
        let rows = match path.extension() {
            Some(extension) if extension == "properties" => read_properties(&text),
            _ => read_toml(&text),
        };
        rows.map_err(|error| error.of(name))
    }

    /// Applies rows of (key, value) of one source, such as a file or the command line. If one
    /// source sets the same option under several names, Kafka's precedence applies: `.ms` beats
    /// `.minutes`, which beats `.hours`. If a name occurs several times, the last row wins.
    ///
    /// # Errors
    /// With every unknown key and every invalid value, or else with every invalid combination.
    pub fn set<'a>(
        &mut self,
        rows: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), ConfigError> {
        self.set_sources([rows])
    }

    /// Applies the rows of several sources like [`Self::set`], each overriding those before it.
    /// Only the final result must be consistent.
    ///
    /// # Errors
    /// With every unknown key and every invalid value, or else with every invalid combination.
    pub fn set_sources<'a, S: IntoIterator<Item = (&'a str, &'a str)>>(
        &mut self,
        sources: impl IntoIterator<Item = S>,
    ) -> Result<(), ConfigError> {
        let mut faults = Vec::new();
        for source in sources {
            let rows: Vec<(&str, &str)> = source.into_iter().collect();
            faults.extend(self.set_source(&rows).into_iter().filter_map(Result::err));
        }
        ConfigError::from_faults(faults)?;
        self.validate()
    }

    /// Applies the rows of a source and returns the result of each.
    fn set_source(&mut self, rows: &[(&str, &str)]) -> Vec<Result<(), Fault>> {
        let mut results = vec![Ok(()); rows.len()];
        let mut ordered: Vec<_> = rows.iter().zip(&mut results).collect();
        ordered.sort_by_key(|((name, _), _)| rank(name));
        for ((name, value), result) in ordered {
            *result = self.set_one(name, &in_unit_of(name, value));
        }
        results
    }

    /// Returns the effect of each row if a broker were started with these rows as its only source.
    pub fn judge(rows: &[(String, String)]) -> Vec<Verdict> {
        let mut config = Self::default();
        let borrowed: Vec<_> = rows.iter().map(|(name, value)| (&**name, &**value)).collect();
        let results = config.set_source(&borrowed).into_iter().enumerate();
        let mut verdicts: Vec<Verdict> = results
            .map(|(row, result)| match result {
                Ok(()) => Self::ignored(rows, row).map_or(Verdict::Honoured, Verdict::Ignored),
                Err(fault) => Verdict::Refused(fault.reason),
            })
            .collect();
        // Attribute a conflict between settings to the last row that contributes to it.
        for fault in config.validate().err().into_iter().flat_map(|error| error.faults) {
            let has_part = |row: &usize| {
                verdicts[*row] == Verdict::Honoured && setting(&rows[*row].0) == setting(&fault.key)
            };
            let row = (0..rows.len()).rev().find(has_part);
            let row = row.or_else(|| verdicts.iter().rposition(|v| *v == Verdict::Honoured));
            if let Some(verdict) = row.and_then(|row| verdicts.get_mut(row)) {
                *verdict = Verdict::Refused(fault.to_string());
            }
        }
        verdicts
    }

    /// The reason why a valid row of a source has no effect, or `None` if the row takes effect.
    ///
    /// # Panics
    /// If `row` is not an index of `rows`.
    pub fn ignored(rows: &[(String, String)], row: usize) -> Option<String> {
        let (name, value) = &rows[row];
        if let Some(judged) = unserved::judge(name, value) {
            return judged.ok().map(str::to_owned);
        }
        let same = |other: &usize| setting(&rows[*other].0) == setting(name);
        // Among rows of equal rank the last one wins, as `max_by_key` returns it.
        let counting = (0..rows.len()).filter(same).max_by_key(|other| rank(&rows[*other].0))?;
        match rows[counting].0.as_str() {
            _ if counting == row => None,
            other if other == name => Some("overridden by a later row".to_owned()),
            other => Some(format!("overridden by {other}")),
        }
    }

    fn set_one(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        self.set_named(name, value)
            .or_else(|| self.engine.log.set_named(name, value))
            .or_else(|| unserved::judge(name, value).map(|judged| judged.map(drop)))
            .unwrap_or_else(|| {
                Err(Fault::unknown(name, Self::all_names().chain(unserved::names())))
            })
    }

    /// Every name under which a setting is honoured.
    pub(crate) fn all_names() -> impl Iterator<Item = &'static str> {
        Self::names().chain(LogConfig::names())
    }

    fn validate(&self) -> Result<(), ConfigError> {
        let mut faults =
            check_listeners(&self.listeners, &self.advertised_listeners, &self.listener_protocols);
        let inter_broker = self.replica.listener.as_deref();
        faults.extend(inter_broker.and_then(|name| check_inter_broker(name, &self.listeners)));
        if self.request_memory < self.frame_max {
            faults.push(Fault::invalid(
                "queued.max.request.bytes",
                &self.request_memory.to_string(),
                format!("at least socket.request.max.bytes, {}", self.frame_max),
            ));
        }
        for checked in [self.engine.validate(), self.group.validate()] {
            faults.extend(checked.err().into_iter().flat_map(|error| error.faults));
        }
        ConfigError::from_faults(faults)
    }
}

/// The primary name of the setting that `name` sets, or `name` itself if there is no such setting.
fn setting(name: &str) -> &str {
    let definition = BrokerConfig::definition(name).or_else(|| LogConfig::definition(name));
    definition.map_or(name, |definition| definition.name)
}

/// The precedence of a name among several names of a setting in one source: the highest wins.
fn rank(name: &str) -> impl Ord + use<> {
    (!OUTRANKED.contains(&name), Reverse(unit_millis(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::BrokerId;

    #[test]
    fn every_row_takes_back_what_it_shows() {
        let config = BrokerConfig::default();
        for key in BrokerConfig::KEYS {
            let mut copy = config.clone();
            (key.set)(&mut copy, &(key.get)(&config)).unwrap();
            assert_eq!(copy, config, "{}", key.name());
        }
    }

    #[test]
    fn values_out_of_range_are_refused_with_what_was_expected() {
        let mut config = BrokerConfig::default();
        let error = config.set([("num.partitions", "0")]).unwrap_err().to_string();
        assert!(error.contains("from 1"), "{error}");
        assert!(config.set([("queued.max.request.bytes", "2 MiB")]).is_err());
    }

    fn judged(rows: &[(&str, &str)]) -> Vec<Verdict> {
        let rows = rows.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        BrokerConfig::judge(&rows.collect::<Vec<_>>())
    }

    #[test]
    fn rows_are_judged_together() {
        let larger = ("socket.request.max.bytes", "512 MiB");
        assert!(matches!(&judged(&[larger])[..], [Verdict::Refused(_)]));
        let fitting = judged(&[larger, ("queued.max.request.bytes", "1 GiB")]);
        assert_eq!(fitting, [Verdict::Honoured, Verdict::Honoured]);
    }

    #[test]
    fn several_names_of_a_setting_follow_kafkas_precedence() {
        let shipped = ("log.retention.hours", "168");
        let for_ever = ("log.retention.ms", "-1");
        for rows in [[shipped, for_ever], [for_ever, shipped]] {
            let mut config = BrokerConfig::default();
            config.set(rows).unwrap();
            assert_eq!(config.engine.log.retention, None, "{rows:?}");
        }
        let mut config = BrokerConfig::default();
        let roll = [("log.roll.ms", "60000"), ("log.roll.hours", "1")];
        let jitter = [("log.roll.jitter.ms", "500"), ("log.roll.jitter.hours", "1")];
        config.set(roll.into_iter().chain(jitter)).unwrap();
        assert_eq!(config.engine.log.segment_age, Duration::from_mins(1));
        assert_eq!(config.engine.log.segment_jitter, Duration::from_millis(500));
        config
            .set([("log.retention.minutes", "3"), shipped, ("log.dirs", "a"), ("log.dir", "b")])
            .unwrap();
        assert_eq!(config.engine.log.retention, Some(Duration::from_mins(3)));
        assert_eq!(config.engine.data_dir, Path::new("a"));
    }

    #[test]
    fn a_later_source_wins_whatever_the_names() {
        let mut config = BrokerConfig::default();
        config.set_sources([[("log.retention.ms", "-1")], [("log.retention.hours", "1")]]).unwrap();
        assert_eq!(config.engine.log.retention, Some(Duration::from_hours(1)));
    }

    #[test]
    fn a_row_of_lower_precedence_is_ignored_but_must_be_valid() {
        let outranked = Verdict::Ignored("overridden by log.retention.ms".to_owned());
        let rows = [("log.retention.ms", "-1"), ("log.retention.hours", "168")];
        assert_eq!(judged(&rows), [Verdict::Honoured, outranked]);
        let rows = [("log.retention.ms", "-1"), ("log.retention.hours", "soon")];
        assert!(matches!(&judged(&rows)[..], [Verdict::Honoured, Verdict::Refused(_)]));
        let twice = judged(&[("num.partitions", "3"), ("num.partitions", "4")]);
        assert_eq!(
            twice,
            [Verdict::Ignored("overridden by a later row".to_owned()), Verdict::Honoured]
        );
    }

    #[test]
    fn alternative_names_set_the_same_setting() {
        let mut config = BrokerConfig::default();
        config.set([("node.id", "7"), ("log.dir", "elsewhere")]).unwrap();
        assert_eq!(
            (config.engine.broker_id, config.engine.data_dir),
            (BrokerId(7), "elsewhere".into())
        );
    }
}
