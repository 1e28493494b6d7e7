//! The settings of a topic.

use std::borrow::Cow;

use crate::broker::BrokerConfig;
use crate::broker::settings::setting::static_values;
use crate::broker::settings::{Setting, Source, Value};
use crate::config::{Key, UpdateMode};
use crate::engine::overlay;
use crate::metadata::{Configs, Image};
use crate::storage::LogConfig;

/// A setting whose default depends on the number of replicas.
const MIN_INSYNC_REPLICAS: &str = "min.insync.replicas";

/// Every setting of a topic with these overrides and this replication factor.
pub(crate) fn topic_settings(
    config: &BrokerConfig,
    image: &Image,
    own: &Configs,
    replicas: usize,
) -> Vec<Setting> {
    let layers = Layers::new(config, image, replicas);
    let setting = |key: &Key<LogConfig>| {
        let name = key.name();
        let value = |text: &String| Value { source: Source::Topic, name, text: Some(text.clone()) };
        let said = own.get(name).map(value);
        let mut setting = layers.setting(key);
        setting.name = name;
        if setting.is_fixed {
            // Settings of brokers do not change an immutable setting of an existing topic.
            setting.values.retain(|value| value.source == Source::Default);
        }
        setting.values.splice(..0, said);
        setting
    };
    LogConfig::KEYS.iter().map(setting).collect()
}

/// The values that brokers provide for topic settings: dynamic, static and built-in.
pub(super) struct Layers<'a> {
    /// The dynamic settings with the resulting defaults, in rising order of precedence.
    dynamic: Vec<(Source, &'a Configs, LogConfig)>,
    at_start: LogConfig,
    initial: LogConfig,
    replicas: usize,
}

impl<'a> Layers<'a> {
    pub(super) fn new(config: &BrokerConfig, image: &'a Image, replicas: usize) -> Self {
        let (at_start, initial) = (config.engine.log.clone(), LogConfig::default());
        let mut so_far = at_start.clone();
        let mut dynamic = Vec::new();
        for (source, broker) in [
            (Source::DynamicAllBrokers, None),
            (Source::DynamicBroker, Some(config.engine.broker_id)),
        ] {
            if let Some(configs) = image.broker_configs(broker) {
                overlay(&mut so_far, configs);
                dynamic.push((source, &**configs, so_far.clone()));
            }
        }
        Self { dynamic, at_start, initial, replicas }
    }

    /// A topic setting under its broker name.
    pub(super) fn setting(&self, key: &Key<LogConfig>) -> Setting {
        let definition = &key.definition;
        let name = definition.broker_name();
        let is_said = |configs: &Configs| configs.keys().any(|name| definition.is_called(name));
        let said = self.dynamic.iter().rev().filter(|(_, configs, _)| is_said(configs));
        let mut values: Vec<Value> = said
            .map(|(source, _, config)| Value {
                source: *source,
                name,
                text: Some(self.shown(key, config)),
            })
            .collect();
        let (value, default) = (self.shown(key, &self.at_start), self.shown(key, &self.initial));
        if definition.update == UpdateMode::ClusterWide
            && values.iter().all(|value| value.source != Source::DynamicAllBrokers)
        {
            let text = Some(value.clone());
            values.push(Value { source: Source::DynamicAllBrokers, name, text });
        }
        values.extend(static_values(name, value, default));
        let is_fixed = definition.update == UpdateMode::ReadOnly;
        let (about, kind) = (Cow::Borrowed(definition.about), definition.kind);
        Setting { name, about, kind, is_fixed, values }
    }

    fn shown(&self, key: &Key<LogConfig>, config: &LogConfig) -> String {
        if key.name() == MIN_INSYNC_REPLICAS {
            return config.min_insync_replicas(self.replicas).to_string();
        }
        (key.get)(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::BrokerId;

    fn image() -> Image {
        Image::default()
    }

    fn find(settings: &[Setting], name: &str) -> Setting {
        settings.iter().find(|setting| setting.name == name).unwrap().clone()
    }

    #[test]
    fn a_setting_lists_every_source_of_its_value() {
        let mut config = BrokerConfig::default();
        config.engine.broker_id = BrokerId(3);
        config.set([("log.retention.hours", "1")]).unwrap();
        let own = Configs::from([("retention.ms".to_owned(), "60000".to_owned())]);
        let settings = topic_settings(&config, &image(), &own, 1);
        assert_eq!(settings.len(), LogConfig::KEYS.len());
        let places: Vec<_> = find(&settings, "retention.ms")
            .values
            .into_iter()
            .map(|value| (value.source, value.name, value.text.unwrap()))
            .collect();
        assert_eq!(
            places,
            [
                (Source::Topic, "retention.ms", "60000".to_owned()),
                (Source::StaticBroker, "log.retention.ms", "3600000".to_owned()),
                (Source::Default, "log.retention.ms", "604800000".to_owned()),
            ]
        );
    }

    #[test]
    fn settings_without_overrides_are_defaults() {
        let settings = topic_settings(&BrokerConfig::default(), &image(), &Configs::new(), 3);
        let said = |setting: &&Setting| setting.in_force().source != Source::Default;
        let said: Vec<_> = settings.iter().filter(said).map(|setting| setting.name).collect();
        assert_eq!(said, [MIN_INSYNC_REPLICAS], "a default of the whole cluster");
        let fixed: Vec<_> = settings.iter().filter(|s| s.is_fixed).map(|s| s.name).collect();
        assert_eq!(fixed, ["offset.unit"]);
        let replicas = find(&settings, "min.insync.replicas");
        assert_eq!(replicas.in_force().text.as_deref(), Some("2"));
    }
}
