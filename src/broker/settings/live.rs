//! Settings of the broker itself that may change at runtime. All others are only read at startup.
//!
//! The values are not cached: code that depends on such a setting reads it from the current cluster
//! image each time.

use std::borrow::Cow;

use crate::broker::BrokerConfig;
use crate::config::{Settings, UpdateMode};
use crate::metadata::{Configs, Image};

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
                // Validated when written, but possibly by a later release.
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
