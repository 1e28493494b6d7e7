//! The default settings of topics: the broker's configuration, overlaid with the dynamic settings
//! of all brokers and of this broker.

use crate::config::Settings;
use crate::engine::EngineConfig;
use crate::metadata::{Configs, Image};
use crate::storage::{LogConfig, OffsetUnit};

/// The settings of a topic without overrides. The offset unit is not inherited: a topic without an
/// override counts records, and a new topic stores the unit explicitly.
pub(crate) fn log_defaults(config: &EngineConfig, image: &Image) -> LogConfig {
    let mut defaults = config.log.clone();
    for configs in
        [None, Some(config.broker_id)].into_iter().filter_map(|b| image.broker_configs(b))
    {
        overlay(&mut defaults, configs);
    }
    LogConfig { offset_unit: OffsetUnit::Record, ..defaults }
}

/// Applies the topic defaults among `configs`; other names are settings of the broker itself and do
/// not concern the engine. Values were validated when written, but possibly by a later release: an
/// invalid value is skipped so that the broker starts.
pub(crate) fn overlay(defaults: &mut LogConfig, configs: &Configs) {
    for (name, value) in configs {
        if let Some(Err(fault)) = defaults.set_named(name, value) {
            tracing::warn!("a setting of brokers is left out: {fault}");
        }
    }
}
