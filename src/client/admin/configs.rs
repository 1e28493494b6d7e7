//! Settings of topics and brokers: what they are, where they come from, changing them.

use crate::client::admin::handle::{AdminCalls, unanswered};
use crate::client::cluster::Brokers;
use crate::client::error::topic_name;
use crate::client::{Call, ClientError};
use crate::types::BrokerId;
use crate::wire::describe_configs::{self as asked, RequestResource};
use crate::wire::incremental_alter_configs::{self as changed, DELETE, RequestConfig, SET};
use crate::wire::{DescribeConfigsRequest, IncrementalAlterConfigsRequest, Message};

/// What has settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A topic.
    Topic(String),
    /// One broker.
    Broker(BrokerId),
    /// All brokers together: what holds for each that says nothing of its own.
    Brokers,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Kafka's name of it.
    pub name: String,
    /// Its value; `None` where there is none, or it is secret.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// Whether it can only be set where the broker is started.
    pub is_read_only: bool,
    /// What it means.
    pub documentation: Option<String>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// It was set on the topic.
    Topic,
    /// It was set on the broker while it ran.
    DynamicBroker,
    /// It was set on all brokers while they ran.
    DynamicDefaultBroker,
    /// It was given to the broker at its start.
    StaticBroker,
    /// Nobody has set it.
    Default,
    /// The broker did not say.
    Unknown,
}

impl AdminCalls {
    /// [`Admin::configs`](super::Admin::configs) as a call.
    pub fn configs(&self, resource: &Resource) -> Call<Vec<ConfigEntry>> {
        let resource = resource.clone();
        self.with_brokers("reading settings", async move |brokers, deadline| {
            let (resource_type, resource_name) = resource.on_wire()?;
            let about = resource_name.clone();
            let row = RequestResource { resource_type, resource_name, configuration_keys: None };
            let request = DescribeConfigsRequest {
                resources: vec![row],
                include_synonyms: true,
                include_documentation: true,
            };
            let asking = || resource.ask(&brokers, &request);
            let answer = brokers.until(deadline, &[], asking).await?;
            let row = answer.results.into_iter().next().ok_or_else(|| unanswered(&about))?;
            ClientError::check(row.error_code, &about, row.error_message.as_deref())?;
            let mut entries: Vec<_> = row.configs.into_iter().map(ConfigEntry::of).collect();
            entries.sort_by(|one, other| one.name.cmp(&other.name));
            Ok(entries)
        })
    }

    /// [`Admin::alter_configs`](super::Admin::alter_configs) as a call.
    pub fn alter_configs(
        &self,
        resource: &Resource,
        changes: &[(String, Option<String>)],
        validate_only: bool,
    ) -> Call<()> {
        let resource = resource.clone();
        let change = |(name, value): &(String, Option<String>)| RequestConfig {
            name: name.clone(),
            config_operation: if value.is_some() { SET } else { DELETE },
            value: value.clone(),
        };
        let configs = changes.iter().map(change).collect();
        self.with_brokers("changing settings", async move |brokers, deadline| {
            let (resource_type, resource_name) = resource.on_wire()?;
            let about = resource_name.clone();
            let row = changed::RequestResource { resource_type, resource_name, configs };
            let request = IncrementalAlterConfigsRequest { resources: vec![row], validate_only };
            let asking = || resource.ask(&brokers, &request);
            let answer = brokers.until(deadline, &[], asking).await?;
            let row = answer.responses.first().ok_or_else(|| unanswered(&about))?;
            ClientError::check(row.error_code, &about, row.error_message.as_deref())
        })
    }
}

impl Resource {
    fn on_wire(&self) -> Result<(i8, String), ClientError> {
        Ok(match self {
            Self::Topic(topic) => (asked::RESOURCE_TOPIC, topic_name(topic)?.to_string()),
            Self::Broker(id) => (asked::RESOURCE_BROKER, id.to_string()),
            Self::Brokers => (asked::RESOURCE_BROKER, String::new()),
        })
    }

    /// Asks whoever can answer for it.
    async fn ask<R: Message>(
        &self,
        brokers: &Brokers,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        match self {
            Self::Broker(id) => brokers.call_broker(*id, request).await,
            Self::Topic(_) | Self::Brokers => brokers.call_controller(request).await,
        }
    }
}

impl ConfigEntry {
    fn of(row: asked::Config) -> Self {
        let source = if says_its_default(&row) {
            ConfigSource::Default
        } else {
            ConfigSource::of(row.config_source)
        };
        Self {
            name: row.name,
            value: row.value,
            source,
            is_read_only: row.read_only,
            documentation: row.documentation,
        }
    }
}

/// Whether a broker presents a default as a setting of all brokers: since 4.1 Kafka keeps one value
/// of this setting for the whole cluster, whether anybody has set it or not.
fn says_its_default(row: &asked::Config) -> bool {
    let is_default = |synonym: &asked::Synonym| {
        synonym.source == asked::SOURCE_DEFAULT && synonym.value == row.value
    };
    row.name == "min.insync.replicas"
        && row.config_source == asked::SOURCE_DYNAMIC_DEFAULT_BROKER
        && row.synonyms.iter().any(is_default)
}

impl ConfigSource {
    fn of(source: i8) -> Self {
        match source {
            asked::SOURCE_TOPIC => Self::Topic,
            asked::SOURCE_DYNAMIC_BROKER => Self::DynamicBroker,
            asked::SOURCE_DYNAMIC_DEFAULT_BROKER => Self::DynamicDefaultBroker,
            asked::SOURCE_STATIC_BROKER => Self::StaticBroker,
            asked::SOURCE_DEFAULT => Self::Default,
            _ => Self::Unknown,
        }
    }

    /// The name of the source, as tools print it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::DynamicBroker => "dynamic-broker",
            Self::DynamicDefaultBroker => "dynamic-default",
            Self::StaticBroker => "static-broker",
            Self::Default => "default",
            Self::Unknown => "unknown",
        }
    }
}
