//! The settings of a broker, and a few facts that tools ask for as if they were settings.

use crate::broker::settings::setting::fixed;
use crate::broker::settings::topic::Layers;
use crate::broker::settings::{Setting, Source, Value};
use crate::broker::topic_settings::topic_key;
use crate::broker::{BrokerConfig, OffsetsTopicConfig};
use crate::config::{Key, Kind};
use crate::group::GroupConfig;
use crate::metadata::{Image, MetadataConfig};
use crate::storage::LogConfig;

/// What cannot be set: name, value, type and meaning.
const FACTS: &[(&str, Option<&str>, Kind, &str)] = &[
    ("broker.rack", None, Kind::String, "Where the broker stands; there is no telling yet."),
    ("delete.topic.enable", Some("true"), Kind::Boolean, "Topics can be deleted."),
    (
        "inter.broker.protocol.version",
        Some("4.0-IV3"),
        Kind::String,
        "The release of Kafka that the broker answers like.",
    ),
];

/// Every setting of this broker, by name.
pub(crate) fn broker_settings(config: &BrokerConfig, image: &Image) -> Vec<Setting> {
    let initial = BrokerConfig::default();
    let mut settings = fixed(BrokerConfig::KEYS, config, &initial);
    settings.extend(fixed(MetadataConfig::KEYS, &config.metadata, &initial.metadata));
    settings.extend(fixed(GroupConfig::KEYS, &config.group, &initial.group));
    let (now, initially) = (&config.offsets_topic, &initial.offsets_topic);
    settings.extend(fixed(OffsetsTopicConfig::KEYS, now, initially));
    let layers = Layers::new(config, image, 1);
    settings.extend(LogConfig::KEYS.iter().map(|key| layers.setting(key)));
    settings.extend(FACTS.iter().map(|(name, text, kind, about)| Setting {
        name,
        about,
        kind: *kind,
        is_fixed: true,
        values: vec![Value { source: Source::Default, name, text: text.map(str::to_owned) }],
    }));
    settings.sort_by_key(|setting| setting.name);
    settings
}

/// What was said of all brokers while they ran, and nothing else.
pub(crate) fn all_brokers_settings(config: &BrokerConfig, image: &Image) -> Vec<Setting> {
    let Some(said) = image.broker_configs(None) else { return Vec::new() };
    let layers = Layers::new(config, image, 1);
    let is_said = |key: &&Key<LogConfig>| said.keys().any(|name| topic_key(name) == Some(key.name));
    let keys = LogConfig::KEYS.iter().filter(is_said);
    keys.map(|key| {
        let mut setting = layers.setting(key);
        // What this broker says for itself is not the others' business.
        setting.values.retain(|value| value.source != Source::DynamicBroker);
        setting
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_and_every_fact_is_listed_once() {
        let settings = broker_settings(&BrokerConfig::default(), &Image::default());
        assert!(settings.is_sorted_by(|a, b| a.name < b.name), "sorted, and none twice");
        for name in ["log.dirs", "num.partitions", "log.retention.ms", "message.max.bytes"] {
            assert!(settings.iter().any(|setting| setting.name == name), "{name}");
        }
        for (name, ..) in FACTS {
            assert!(settings.iter().any(|setting| setting.name == *name && setting.is_fixed));
        }
    }

    #[test]
    fn only_the_defaults_of_topics_can_be_changed_while_the_broker_runs() {
        let settings = broker_settings(&BrokerConfig::default(), &Image::default());
        for setting in settings.iter().filter(|setting| !setting.is_fixed) {
            assert!(topic_key(setting.name).is_some(), "{}", setting.name);
        }
    }
}
