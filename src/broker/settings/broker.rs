//! The settings of a broker, and a few facts that tools query as settings.
//!
//! Most settings are only read at startup. The values of the others are not cached: code that
//! depends on such a setting reads it from the current cluster image each time.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::broker::BrokerConfig;
use crate::broker::settings::setting::static_values;
use crate::broker::settings::topic::Layers;
use crate::broker::settings::without_effect::{WITHOUT_EFFECT, description, without_effect};
use crate::broker::settings::{Setting, Source, Value};
use crate::config::{Kind, Settings, UpdateMode};
use crate::metadata::{Configs, Image};
use crate::storage::LogConfig;

/// Read-only facts: name, value, type and description.
const FACTS: &[(&str, &str, Kind, &str)] = &[
    ("delete.topic.enable", "true", Kind::Boolean, "Topics can be deleted."),
    (
        "inter.broker.protocol.version",
        "4.0-IV3",
        Kind::String,
        "The release of Kafka that the broker answers like.",
    ),
];

/// Returns true if the setting with this name may change at runtime.
pub(super) fn is_live(name: &str) -> bool {
    BrokerConfig::definition(name).is_some_and(|setting| setting.update != UpdateMode::ReadOnly)
}

/// The broker's settings currently in force.
pub(crate) fn in_force<'a>(config: &'a BrokerConfig, image: &Image) -> Cow<'a, BrokerConfig> {
    let mut live = Cow::Borrowed(config);
    for configs in layers(config, image) {
        for (name, value) in configs.iter().filter(|(name, _)| is_live(name)) {
            if let Some(Err(fault)) = live.to_mut().set_named(name, value) {
                // The value was validated when it was written, but possibly by a later release.
                tracing::warn!("a setting of brokers is left out: {fault}");
            }
        }
    }
    live
}

/// The dynamic settings that apply to this broker, in rising order of precedence.
fn layers<'a>(config: &BrokerConfig, image: &'a Image) -> impl Iterator<Item = &'a Configs> {
    let brokers = [None, Some(config.engine.broker_id)];
    brokers.into_iter().filter_map(|broker| image.broker_configs(broker)).map(|configs| &**configs)
}

/// Every setting of this broker, by name.
pub(crate) fn broker_settings(config: &BrokerConfig, image: &Image) -> Vec<Setting> {
    let values = config.values().into_iter().zip(BrokerConfig::default().values());
    let own = BrokerConfig::definitions().into_iter().zip(values);
    let mut settings: Vec<Setting> = own
        .map(|(definition, (value, default))| Setting {
            name: definition.name,
            about: Cow::Borrowed(definition.about),
            kind: definition.kind,
            is_fixed: true,
            values: static_values(definition.name, value, default),
        })
        .collect();
    for setting in &mut settings {
        overlay_dynamic(setting, config, image);
    }
    settings.extend(dynamic_only(&settings, config, image));
    let layers = Layers::new(config, image, 1);
    settings.extend(LogConfig::KEYS.iter().map(|key| layers.setting(key)));
    settings.extend(FACTS.iter().map(|(name, text, kind, about)| Setting {
        name,
        about: Cow::Borrowed(about),
        kind: *kind,
        is_fixed: true,
        values: vec![Value { source: Source::Default, name, text: Some((*text).to_owned()) }],
    }));
    settings.sort_by_key(|setting| setting.name);
    settings
}

/// Adds the dynamic values of a setting that can change at runtime.
fn overlay_dynamic(setting: &mut Setting, config: &BrokerConfig, image: &Image) {
    let has_no_effect = without_effect(setting.name).is_some();
    if !is_live(setting.name) && !has_no_effect {
        return;
    }
    setting.is_fixed = false;
    let layers =
        [(Source::DynamicAllBrokers, None), (Source::DynamicBroker, Some(config.engine.broker_id))];
    for (source, broker) in layers {
        let said = image.broker_configs(broker).and_then(|configs| configs.get(setting.name));
        let value = said.map(|text| Value { source, name: setting.name, text: Some(text.clone()) });
        if value.is_some() && has_no_effect {
            setting.about = Cow::Owned(description(setting.name));
        }
        setting.values.splice(..0, value);
    }
}

/// Settings of Kafka that have no effect here, and for which a dynamic value is stored
/// nevertheless.
fn dynamic_only(known: &[Setting], config: &BrokerConfig, image: &Image) -> Vec<Setting> {
    let known: HashSet<&str> = known.iter().map(|setting| setting.name).collect();
    let others = WITHOUT_EFFECT.iter().filter(|(name, _)| !known.contains(name));
    let described = others.map(|(name, kind)| {
        let values = vec![Value { source: Source::Default, name, text: None }];
        let about = Cow::Owned(description(name));
        let mut setting = Setting { name, about, kind: *kind, is_fixed: false, values };
        overlay_dynamic(&mut setting, config, image);
        setting
    });
    described.filter(|setting| setting.values.len() > 1).collect()
}

/// The dynamic settings of all brokers.
pub(crate) fn all_brokers_settings(config: &BrokerConfig, image: &Image) -> Vec<Setting> {
    let mut settings = broker_settings(config, image);
    let is_said = |value: &Value| value.source == Source::DynamicAllBrokers;
    settings.retain(|setting| setting.values.iter().any(is_said));
    for setting in &mut settings {
        // Values of this broker alone are not part of the defaults of all brokers.
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
    fn only_topic_defaults_and_a_few_settings_can_be_changed_at_runtime() {
        let settings = broker_settings(&BrokerConfig::default(), &Image::default());
        let changeable = settings.iter().filter(|setting| !setting.is_fixed);
        let own: Vec<_> = changeable
            .map(|s| s.name)
            .filter(|name| LogConfig::definition(name).is_none())
            .collect();
        let live: Vec<_> = own.into_iter().filter(|name| without_effect(name).is_none()).collect();
        let expected = [
            "auto.create.topics.enable",
            "auto.leader.rebalance.enable",
            "max.connections",
            "max.connections.per.ip",
        ];
        assert_eq!(live, expected);
    }
}
