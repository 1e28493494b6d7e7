//! The default settings of topics: the broker's configuration, overlaid with the dynamic settings
//! of all brokers and of this broker.
//!
//! If a dynamic setting cannot be read, no inherited setting removes records: the unreadable one
//! may be the setting that keeps them.

use crate::config::Settings;
use crate::engine::EngineConfig;
use crate::metadata::{Configs, Image};
use crate::storage::{CleanupPolicy, LogConfig, OffsetUnit};

/// The settings of a topic without overrides. The offset unit is not inherited: a topic without an
/// override counts records, and a new topic stores the unit explicitly.
pub(crate) fn log_defaults(config: &EngineConfig, image: &Image) -> LogConfig {
    let mut defaults = config.log.clone();
    let mut is_whole = true;
    for broker in [None, Some(config.broker_id)] {
        is_whole &= !image.are_broker_configs_broken(broker);
        if let Some(configs) = image.broker_configs(broker) {
            is_whole &= overlay(&mut defaults, configs);
        }
    }
    if !is_whole {
        (defaults.retention, defaults.retention_size) = (None, None);
        defaults.cleanup_policy = CleanupPolicy::NONE;
    }
    LogConfig { offset_unit: OffsetUnit::Record, ..defaults }
}

/// Applies the topic defaults among `configs`; other names are settings of the broker itself and do
/// not concern the engine. Values were validated when written, but possibly by a later release: an
/// invalid value is skipped so that the broker starts, and the result is false.
pub(crate) fn overlay(defaults: &mut LogConfig, configs: &Configs) -> bool {
    let mut is_whole = true;
    for (name, value) in configs {
        if let Some(Err(fault)) = defaults.set_named(name, value) {
            tracing::error!("a setting of brokers is left out: {fault}");
            is_whole = false;
        }
    }
    is_whole
}
