//! Validation of changes at runtime.

use crate::broker::BrokerConfig;
use crate::broker::settings::broker::is_live;
use crate::broker::settings::without_effect;
use crate::config::{ConfigError, Fault, Kind, Settings, UpdateMode};
use crate::engine::resolve;
use crate::metadata::{Configs, Image};
use crate::storage::{LogConfig, OffsetUnit};
use crate::types::BrokerId;

/// Validates the dynamic settings of brokers: topic defaults, which must be valid for every topic,
/// and a few settings of the broker itself. Of all other settings, only those are accepted that
/// Apache Kafka can change at runtime and that have no effect here.
///
/// # Errors
/// With every fault.
pub(crate) fn check_broker_configs(
    config: &BrokerConfig,
    image: &Image,
    target: Option<BrokerId>,
    changed: &Configs,
) -> Result<(), ConfigError> {
    let mut defaults = config.engine.log.clone();
    let mut broker = config.clone();
    let mut faults = Vec::new();
    for (name, value) in changed {
        if is_live(name) {
            faults.extend(broker.set_named(name, value).and_then(Result::err));
            continue;
        }
        let forbidden = match LogConfig::definition(name).map(|setting| setting.update) {
            Some(UpdateMode::ReadOnly) => Some(FIXED_AT_CREATION),
            Some(UpdateMode::ClusterWide) if target.is_some() => Some(OF_THE_CLUSTER),
            _ => None,
        };
        if let Some(reason) = forbidden {
            faults.push(Fault { key: name.clone(), reason: reason.to_owned() });
            continue;
        }
        match defaults.set_named(name, value) {
            Some(result) => faults.extend(result.err()),
            None => faults.extend(without_effect::judge(name, value).err()),
        }
    }
    ConfigError::from_faults(faults)?;
    defaults.validate()?;
    // Topics do not inherit the offset unit.
    let defaults = LogConfig { offset_unit: OffsetUnit::Record, ..defaults };
    image.topics().try_for_each(|topic| resolve(&defaults, &topic.configs).map(drop))
}

/// The default value of a topic setting that is a list, by its topic or broker name; `None` if the
/// setting is not a list.
pub(crate) fn inherited_list(defaults: &LogConfig, name: &str) -> Option<String> {
    let lists = LogConfig::KEYS.iter().filter(|key| key.definition.kind == Kind::List);
    let mut found = lists.filter(|key| key.definition.is_called(name));
    found.next().map(|key| (key.get)(defaults))
}

const FIXED_AT_CREATION: &str = "topics keep the unit they were made with; set it on new ones";
const OF_THE_CLUSTER: &str = "it is a default of the whole cluster: set it without naming a broker";

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, value: &str) -> String {
        refused_by(None, name, value)
    }

    fn refused_by(broker: Option<BrokerId>, name: &str, value: &str) -> String {
        let changed = Configs::from([(name.to_owned(), value.to_owned())]);
        check_broker_configs(&BrokerConfig::default(), &Image::default(), broker, &changed)
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn only_topic_defaults_and_a_few_settings_are_changed_at_runtime() {
        assert_eq!(refused("log.retention.ms", "1000"), "");
        assert_eq!(refused("cleanup.policy", "compact"), "");
        assert_eq!(refused("max.connections", "3"), "");
        assert!(refused("max.connections", "0").contains("from 1"));
        assert_eq!(refused("num.network.threads", "3"), "", "taken, and without effect");
        assert!(refused("listeners", "PLAINTEXT://127.0.0.1:1").contains("restart"));
        assert!(refused("ssl.keystore.location", "/etc/key").contains("open to everybody"));
        assert_eq!(refused("min.insync.replicas", "1"), "");
        assert!(refused_by(Some(BrokerId(1)), "min.insync.replicas", "1").contains("cluster"));
        assert!(refused("num.partitions", "3").contains("restart"));
        assert!(refused("log.retention.mss", "3").contains("did you mean"));
        assert!(refused("log.retention.ms", "soon").contains("'soon'"));
        assert!(refused("offset.unit", "byte").contains("new ones"));
        assert!(refused("log.roll.jitter.ms", "999999999999").contains("segment.ms"));
    }

    #[test]
    fn lists_are_known_by_both_names() {
        let defaults = LogConfig::default();
        for name in ["cleanup.policy", "log.cleanup.policy"] {
            assert_eq!(inherited_list(&defaults, name).as_deref(), Some("delete"));
        }
        assert_eq!(inherited_list(&defaults, "retention.ms"), None);
        assert_eq!(inherited_list(&defaults, "no.such.name"), None);
    }
}
