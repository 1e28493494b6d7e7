//! Settings of topics and brokers: values, sources, and changes.

use crate::client::admin::handle::{AdminCalls, unanswered};
use crate::client::cluster::Brokers;
use crate::client::error::topic_name;
use crate::client::{Call, ClientError};
use crate::types::BrokerId;
use crate::wire::describe_configs::{self as asked, RequestResource};
use crate::wire::incremental_alter_configs::{self as changed, DELETE, RequestConfig, SET};
use crate::wire::{DescribeConfigsRequest, IncrementalAlterConfigsRequest, Message};

/// A resource that has settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A topic.
    Topic(String),
    /// One broker.
    Broker(BrokerId),
    /// All brokers: the cluster-wide default for brokers without a value of their own.
    Brokers,
}

/// A setting and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Its name, as in Kafka.
    pub name: String,
    /// Its value; `None` if it has none or is sensitive.
    pub value: Option<String>,
    /// The source of the value.
    pub source: ConfigSource,
    /// True if it can only be set when the broker is started.
    pub is_read_only: bool,
    /// Its documentation.
    pub documentation: Option<String>,
}

/// The source of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// Set on the topic.
    Topic,
    /// Set on the broker at runtime.
    DynamicBroker,
    /// Set on all brokers at runtime.
    DynamicDefaultBroker,
    /// Given to the broker at startup.
    StaticBroker,
    /// The built-in default.
    Default,
    /// The broker did not report a source.
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

    /// Sends a request to the broker responsible for the resource.
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

/// Returns true if a broker reports the default of `min.insync.replicas` as a dynamic setting of
/// all brokers. Since 4.1 Kafka stores its value for the whole cluster, even if it was never set.
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
