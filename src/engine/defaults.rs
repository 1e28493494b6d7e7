//! What topics have of which nothing else is said: the broker's configuration, and over it what was
//! said of all brokers and of this one while they ran.

use crate::engine::EngineConfig;
use crate::engine::topic_settings::set_default;
use crate::metadata::{Configs, Image};
use crate::storage::{LogConfig, OffsetUnit};

/// The settings of a topic without any of its own. What its offsets count is not among those it
/// inherits: a topic that says nothing of it counts records, and a new one says it for itself.
pub(crate) fn log_defaults(config: &EngineConfig, image: &Image) -> LogConfig {
    let mut defaults = config.log.clone();
    for configs in
        [None, Some(config.broker_id)].into_iter().filter_map(|b| image.broker_configs(b))
    {
        overlay(&mut defaults, configs);
    }
    LogConfig { offset_unit: OffsetUnit::Record, ..defaults }
}

/// Applies the defaults of topics among `configs`. The other names are settings of the broker
/// itself, which the engine has no use for. Values were validated when they were written, but maybe
/// by a later release: a value that does not fit is left out, so that the broker starts.
pub(crate) fn overlay(defaults: &mut LogConfig, configs: &Configs) {
    for (name, value) in configs {
        if let Some(Err(fault)) = set_default(defaults, name, value) {
            tracing::warn!("a setting of brokers is left out: {fault}");
        }
    }
}
