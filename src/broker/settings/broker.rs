//! The settings of a broker, and a few facts that tools ask for as if they were settings.

use crate::broker::settings::live::live_row;
use crate::broker::settings::setting::fixed;
use crate::broker::settings::topic::Layers;
use crate::broker::settings::{Setting, Source, Value};
use crate::broker::topic_settings::topic_key;
use crate::broker::{BrokerConfig, OffsetsTopicConfig};
use crate::config::{Key, Kind};
use crate::group::GroupConfig;
use crate::metadata::{Image, MetadataConfig};
use crate::storage::{LogConfig, ScrubOptions};

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
    for setting in &mut settings {
        overlay_live(setting, config, image);
    }
    settings.extend(fixed(MetadataConfig::KEYS, &config.metadata, &initial.metadata));
    settings.extend(fixed(GroupConfig::KEYS, &config.group, &initial.group));
    let (now, initially) = (&config.offsets_topic, &initial.offsets_topic);
    settings.extend(fixed(OffsetsTopicConfig::KEYS, now, initially));
    settings.extend(fixed(ScrubOptions::KEYS, &config.upkeep.scrub, &initial.upkeep.scrub));
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

/// Adds what was said while the broker ran of a setting that may change then.
fn overlay_live(setting: &mut Setting, config: &BrokerConfig, image: &Image) {
    if live_row(setting.name).is_none() {
        return;
    }
    setting.is_fixed = false;
    let layers =
        [(Source::DynamicAllBrokers, None), (Source::DynamicBroker, Some(config.broker_id))];
    for (source, broker) in layers {
        let said = image.broker_configs(broker).and_then(|configs| configs.get(setting.name));
        let value = said.map(|text| Value { source, name: setting.name, text: Some(text.clone()) });
        setting.values.splice(..0, value);
    }
}

/// What was said of all brokers while they ran, and nothing else.
pub(crate) fn all_brokers_settings(config: &BrokerConfig, image: &Image) -> Vec<Setting> {
    let Some(said) = image.broker_configs(None) else { return Vec::new() };
    let layers = Layers::new(config, image, 1);
    let is_said = |key: &&Key<LogConfig>| said.keys().any(|name| topic_key(name) == Some(key.name));
    let keys = LogConfig::KEYS.iter().filter(is_said);
    let mut settings: Vec<_> = keys.map(|key| layers.setting(key)).collect();
    let own = fixed(BrokerConfig::KEYS, config, &BrokerConfig::default());
    for mut setting in own.into_iter().filter(|setting| said.contains_key(setting.name)) {
        overlay_live(&mut setting, config, image);
        settings.push(setting);
    }
    for setting in &mut settings {
        // What this broker says for itself is not the others' business.
        setting.values.retain(|value| value.source != Source::DynamicBroker);
    }
    settings
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
    fn the_defaults_of_topics_and_little_else_can_be_changed_while_the_broker_runs() {
        let settings = broker_settings(&BrokerConfig::default(), &Image::default());
        let changeable = settings.iter().filter(|setting| !setting.is_fixed);
        let own: Vec<_> =
            changeable.map(|s| s.name).filter(|name| topic_key(name).is_none()).collect();
        assert_eq!(own, ["auto.create.topics.enable", "max.connections", "max.connections.per.ip"]);
    }
}
