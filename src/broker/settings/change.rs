//! Changing settings at runtime: all changes of a resource, or none.

use std::sync::Arc;

use crate::broker::BrokerConfig;
use crate::broker::errors::Refusal;
use crate::broker::settings::{check_broker_configs, inherited_list};
use crate::config::ConfigError;
use crate::engine::{APPLIED_WITHIN, EngineState, applied, check_configs, log_defaults};
use crate::metadata::{ConfigEdit, ConfigRules, ConfigTarget, Configs, MetadataError};
use crate::types::TopicId;
use crate::wire::ErrorCode;

/// A change of the settings of a topic or of brokers.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The owner of the settings.
    pub(crate) target: ConfigTarget,
    /// The steps, in order.
    pub(crate) edits: Vec<ConfigEdit>,
    /// True if the change is only validated.
    pub(crate) validate_only: bool,
}

/// Changes settings; they are in force on this broker on return.
///
/// # Errors
/// With every fault, and nothing is changed. `RequestTimedOut` if the settings are changed, but not
/// in force in time.
pub(super) async fn change(
    config: &Arc<BrokerConfig>,
    engine: &Arc<EngineState>,
    change: Change,
) -> Result<(), Refusal> {
    let (broker, node, what) = (Arc::clone(config), Arc::clone(engine), change.clone());
    let outcome = engine.control.run(async move { write(&broker, &node, &what).await });
    outcome.await?.map_err(|error| refusal(&change.target, error))?;
    if change.validate_only {
        return Ok(());
    }
    let image = engine.image();
    let concerned: Vec<TopicId> = match &change.target {
        ConfigTarget::Topic(name) => image.topic(name).map(|topic| topic.id).into_iter().collect(),
        ConfigTarget::Broker(_) => image.topics().map(|topic| topic.id).collect(),
    };
    Ok(applied(engine, &concerned, APPLIED_WITHIN).await?)
}

/// Maps an invalid setting to Kafka's codes: `InvalidConfig` for a topic, `InvalidRequest` for a
/// broker.
fn refusal(target: &ConfigTarget, error: MetadataError) -> Refusal {
    match (target, &error) {
        (ConfigTarget::Broker(_), MetadataError::InvalidConfig(_)) => {
            Refusal::because(ErrorCode::InvalidRequest, &error)
        }
        _ => error.into(),
    }
}

async fn write(
    config: &BrokerConfig,
    engine: &EngineState,
    change: &Change,
) -> Result<(), MetadataError> {
    let image = engine.image();
    let defaults = match &change.target {
        ConfigTarget::Topic(_) => log_defaults(&config.engine, &image),
        ConfigTarget::Broker(_) => config.engine.log.clone(),
    };
    let of_topic = check_configs(&defaults);
    let check = |before: Option<&Configs>, after: &Configs| -> Result<(), ConfigError> {
        match &change.target {
            ConfigTarget::Topic(_) => of_topic(before, after),
            ConfigTarget::Broker(broker) => check_broker_configs(config, &image, *broker, after),
        }
    };
    let inherited = |name: &str| inherited_list(&defaults, name);
    let rules = ConfigRules { check: &check, inherited_list: &inherited };
    let (target, edits) = (&change.target, &change.edits);
    if change.validate_only {
        engine.metadata.check_config_edits(target, edits, rules).await
    } else {
        engine.metadata.edit_configs(target, edits, rules).await
    }
}
