//! Settings of the broker itself that may change at runtime. All others are only read at startup.
//!
//! The values are not cached: code that depends on such a setting reads it from the current cluster
//! image each time.

use std::borrow::Cow;

use crate::broker::BrokerConfig;
use crate::config::{Fault, Key};
use crate::metadata::{Configs, Image};

/// The names of these settings.
const LIVE: [&str; 3] = ["auto.create.topics.enable", "max.connections", "max.connections.per.ip"];

/// The row of a setting that may change at runtime.
pub(super) fn live_row(name: &str) -> Option<&'static Key<BrokerConfig>> {
    let is_live = LIVE.contains(&name);
    BrokerConfig::KEYS.iter().find(|row| is_live && row.name == name)
}

/// Sets one of them; `None` if there is no such setting.
pub(super) fn set_live(
    config: &mut BrokerConfig,
    name: &str,
    value: &str,
) -> Option<Result<(), Fault>> {
    let row = live_row(name)?;
    Some((row.set)(config, value).map_err(|wanted| Fault::invalid(name, value, wanted)))
}

/// The broker's settings currently in force.
pub(crate) fn in_force<'a>(config: &'a BrokerConfig, image: &Image) -> Cow<'a, BrokerConfig> {
    let mut live = Cow::Borrowed(config);
    for configs in layers(config, image) {
        for (name, value) in configs.iter().filter(|(name, _)| live_row(name).is_some()) {
            if let Some(Err(fault)) = set_live(live.to_mut(), name, value) {
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
