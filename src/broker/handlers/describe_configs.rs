//! `DescribeConfigs`: every setting of a topic or of this broker, with the sources of its value.

use std::future::{Ready, ready};
use std::mem;

use crate::broker::authorize::{Operation, Resource as Guarded};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::broker::settings::{Setting, Settings, Source, Value};
use crate::config::Kind;
use crate::types::{BrokerId, TopicName};
use crate::wire::ErrorCode;
use crate::wire::describe_configs::{
    Config, DescribeConfigsRequest, DescribeConfigsResponse, RESOURCE_BROKER,
    RESOURCE_CLIENT_METRICS, RESOURCE_GROUP, RESOURCE_TOPIC, RequestResource, Resource,
    SOURCE_DEFAULT, SOURCE_DYNAMIC_BROKER, SOURCE_DYNAMIC_DEFAULT_BROKER, SOURCE_STATIC_BROKER,
    SOURCE_TOPIC, Synonym, TYPE_BOOLEAN, TYPE_DOUBLE, TYPE_INT, TYPE_LIST, TYPE_LONG, TYPE_STRING,
};

pub(crate) type Request = DescribeConfigsRequest;

/// Describes every resource independently.
pub(crate) fn handle(
    call: &Call<'_>,
    settings: &Settings<'_>,
    mut request: Request,
) -> Ready<DescribeConfigsResponse> {
    let resources = mem::take(&mut request.resources);
    let describe = |wanted: RequestResource| {
        let (rows, refusal) = match rows(call, settings, &wanted) {
            Ok(rows) => (rows, None),
            Err(refusal) => (Vec::new(), Some(refusal)),
        };
        let asked = rows.iter().filter(|setting| is_asked(&wanted, setting.name));
        Resource {
            error_code: refusal.as_ref().map_or(ErrorCode::None, |refusal| refusal.code),
            error_message: refusal.and_then(|refusal| refusal.message),
            configs: asked.map(|setting| config(setting, &request)).collect(),
            resource_type: wanted.resource_type,
            resource_name: wanted.resource_name,
        }
    };
    let results = resources.into_iter().map(describe).collect();
    ready(DescribeConfigsResponse { results, ..DescribeConfigsResponse::default() })
}

/// The settings of a resource.
fn rows(
    call: &Call<'_>,
    settings: &Settings<'_>,
    wanted: &RequestResource,
) -> Result<Vec<Setting>, Refusal> {
    let image = settings.image();
    let name = wanted.resource_name.as_str();
    match wanted.resource_type {
        RESOURCE_TOPIC => {
            if !call.session.may(Operation::DescribeConfigs, Guarded::Topic(name)) {
                return Err(Refusal::of(ErrorCode::TopicAuthorizationFailed));
            }
            let legal: TopicName = name
                .parse()
                .map_err(|error| Refusal::because(ErrorCode::InvalidTopicException, &error))?;
            let unknown = || Refusal::of(ErrorCode::UnknownTopicOrPartition);
            let topic = image.topic(&legal).ok_or_else(unknown)?;
            let replicas = topic.partitions.first().map_or(1, |first| first.replicas.len());
            Ok(settings.of_topic(&image, &topic.configs, replicas))
        }
        RESOURCE_BROKER => {
            if !call.session.may(Operation::DescribeConfigs, Guarded::Cluster) {
                return Err(Refusal::of(ErrorCode::ClusterAuthorizationFailed));
            }
            match broker_id(settings, name)? {
                Some(_) => Ok(settings.of_broker(&image)),
                None => Ok(settings.of_all_brokers(&image)),
            }
        }
        // Groups are of the classic type, which has no settings, and client metrics are not
        // supported.
        RESOURCE_GROUP | RESOURCE_CLIENT_METRICS if name.is_empty() => {
            Err(Refusal::because(ErrorCode::InvalidRequest, &"the resource has no name"))
        }
        RESOURCE_GROUP => {
            let allowed = call.session.may(Operation::DescribeConfigs, Guarded::Group(name));
            let refused = Refusal::of(ErrorCode::GroupAuthorizationFailed);
            if allowed { Ok(Vec::new()) } else { Err(refused) }
        }
        RESOURCE_CLIENT_METRICS => {
            let allowed = call.session.may(Operation::DescribeConfigs, Guarded::Cluster);
            let refused = Refusal::of(ErrorCode::ClusterAuthorizationFailed);
            if allowed { Ok(Vec::new()) } else { Err(refused) }
        }
        other => Err(no_settings(other)),
    }
}

/// Parses the broker that a resource names: this broker, or `None` for all brokers.
pub(crate) fn broker_id(settings: &Settings<'_>, name: &str) -> Result<Option<BrokerId>, Refusal> {
    let me = settings.broker_id();
    if name.is_empty() {
        return Ok(None);
    }
    if name.parse() == Ok(me.0) {
        return Ok(Some(me));
    }
    let cause = format!("'{name}' is another broker; ask it. This one is {me}");
    Err(Refusal::because(ErrorCode::InvalidRequest, &cause))
}

/// The refusal of a resource type that has no settings.
pub(crate) fn no_settings(resource_type: i8) -> Refusal {
    let cause = format!("resources of type {resource_type} have no settings here");
    Refusal::because(ErrorCode::InvalidRequest, &cause)
}

/// Returns true if the setting is requested. Tools that want all settings send no names or an empty
/// list.
fn is_asked(wanted: &RequestResource, name: &str) -> bool {
    let keys = wanted.configuration_keys.as_deref().unwrap_or_default();
    keys.is_empty() || keys.iter().any(|key| key == name)
}

fn config(setting: &Setting, request: &Request) -> Config {
    let in_force = setting.in_force();
    let synonyms = setting.values.iter().filter(|_| request.include_synonyms);
    Config {
        name: setting.name.to_owned(),
        value: in_force.text.clone(),
        read_only: setting.is_fixed,
        config_source: source_code(in_force.source),
        is_sensitive: false,
        synonyms: synonyms.map(synonym).collect(),
        config_type: type_code(setting.kind),
        documentation: request.include_documentation.then(|| setting.about.to_string()),
    }
}

fn synonym(value: &Value) -> Synonym {
    Synonym {
        name: value.name.to_owned(),
        value: value.text.clone(),
        source: source_code(value.source),
    }
}

/// The protocol's number for a source.
pub(crate) fn source_code(source: Source) -> i8 {
    match source {
        Source::Topic => SOURCE_TOPIC,
        Source::DynamicBroker => SOURCE_DYNAMIC_BROKER,
        Source::DynamicAllBrokers => SOURCE_DYNAMIC_DEFAULT_BROKER,
        Source::StaticBroker => SOURCE_STATIC_BROKER,
        Source::Default => SOURCE_DEFAULT,
    }
}

fn type_code(kind: Kind) -> i8 {
    match kind {
        Kind::Boolean => TYPE_BOOLEAN,
        Kind::String => TYPE_STRING,
        Kind::Int => TYPE_INT,
        Kind::Long => TYPE_LONG,
        Kind::Double => TYPE_DOUBLE,
        Kind::List => TYPE_LIST,
    }
}
