//! The settings of the broker and of topics, as far as a handler may see and change them.

use std::borrow::Cow;
use std::sync::Arc;

use crate::broker::BrokerConfig;
use crate::broker::access::Peers;
use crate::broker::errors::Refusal;
use crate::broker::settings::broker::in_force;
use crate::broker::settings::broker::{all_brokers_settings, broker_settings};
use crate::broker::settings::change::{Change, change};
use crate::broker::settings::setting::Setting;
use crate::broker::settings::topic::topic_settings;
use crate::engine::{APPLIED_WITHIN, EngineState};
use crate::metadata::{ConfigTarget, Configs, Image};
use crate::types::BrokerId;

/// The settings of the broker and of topics.
pub(crate) struct Settings<'a> {
    /// The configuration with which the broker was started.
    config: &'a Arc<BrokerConfig>,
    engine: &'a Arc<EngineState>,
    peers: &'a Arc<Peers>,
}

impl<'a> Settings<'a> {
    /// Creates access to the settings of a broker.
    pub(crate) fn new(
        config: &'a Arc<BrokerConfig>,
        engine: &'a Arc<EngineState>,
        peers: &'a Arc<Peers>,
    ) -> Self {
        Self { config, engine, peers }
    }

    /// The current image of the cluster.
    pub(crate) fn image(&self) -> Arc<Image> {
        self.engine.image()
    }

    /// The id of this broker.
    pub(crate) fn broker_id(&self) -> BrokerId {
        self.config.engine.broker_id
    }

    /// The broker's settings currently in force.
    pub(crate) fn in_force(&self) -> Cow<'a, BrokerConfig> {
        in_force(self.config, &self.engine.image())
    }

    /// The settings of a topic with these overrides and this many replicas.
    pub(crate) fn of_topic(&self, image: &Image, own: &Configs, replicas: usize) -> Vec<Setting> {
        topic_settings(self.config, image, own, replicas)
    }

    /// The settings of this broker.
    pub(crate) fn of_broker(&self, image: &Image) -> Vec<Setting> {
        broker_settings(self.config, image)
    }

    /// The settings that all brokers have in common.
    pub(crate) fn of_all_brokers(&self, image: &Image) -> Vec<Setting> {
        all_brokers_settings(self.config, image)
    }

    /// Changes settings. On return they are in force on this broker, and the settings of a topic on
    /// all brokers.
    ///
    /// # Errors
    /// With every fault, and nothing is changed. `RequestTimedOut` if the settings are changed, but
    /// not in force in time.
    pub(crate) async fn change(&self, wanted: Change) -> Result<(), Refusal> {
        let changed = match &wanted.target {
            ConfigTarget::Topic(name) if !wanted.validate_only => Some(name.clone()),
            ConfigTarget::Topic(_) | ConfigTarget::Broker(_) => None,
        };
        change(self.config, self.engine, wanted).await?;
        let image = self.engine.image();
        let topic = changed.and_then(|name| image.topic(&name)).map(|topic| topic.id);
        Ok(self.peers.catch_up(topic.as_slice(), APPLIED_WITHIN).await?)
    }
}
