//! What topics have of which nothing else is said: the broker's configuration, and over it what was
//! said of all brokers and of this one while they ran.

use crate::broker::BrokerConfig;
use crate::broker::settings::live::live_row;
use crate::broker::settings::without_effect::without_effect;
use crate::broker::topic_settings::set_default;
use crate::metadata::{Configs, Image};
use crate::storage::{LogConfig, OffsetUnit};

/// The settings of a topic without any of its own. What its offsets count is not among those it
/// inherits: a topic that says nothing of it counts records, and a new one says it for itself.
pub(crate) fn log_defaults(config: &BrokerConfig, image: &Image) -> LogConfig {
    let mut defaults = config.log.clone();
    for configs in
        [None, Some(config.broker_id)].into_iter().filter_map(|b| image.broker_configs(b))
    {
        overlay(&mut defaults, configs);
    }
    LogConfig { offset_unit: OffsetUnit::Record, ..defaults }
}

/// Sets what `configs` say. They were judged when they were written, but maybe by a later release:
/// what does not fit is left out, so that the broker starts.
pub(super) fn overlay(defaults: &mut LogConfig, configs: &Configs) {
    let is_of_topics = |name: &str| live_row(name).is_none() && without_effect(name).is_none();
    let of_topics = configs.iter().filter(|(name, _)| is_of_topics(name));
    for (name, value) in of_topics {
        match set_default(defaults, name, value) {
            Some(Ok(())) => {}
            Some(Err(fault)) => tracing::warn!("a setting of brokers is left out: {fault}"),
            None => tracing::warn!("a setting of brokers is left out: {name} is unknown"),
        }
    }
}
