//! `IncrementalAlterConfigs`: changes single settings and keeps the others.

use crate::broker::authorize::{Operation, Resource as Guarded};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::broker::handlers::describe_configs::{broker_id, no_settings};
use crate::broker::settings::{Altered, Change, Settings, alter_each, require_each_once};
use crate::broker::topics::name_of;
use crate::metadata::{ConfigEdit, ConfigTarget};
use crate::wire::ErrorCode;
use crate::wire::describe_configs::{RESOURCE_BROKER, RESOURCE_TOPIC};
use crate::wire::incremental_alter_configs::{
    APPEND, DELETE, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse, RequestConfig,
    RequestResource, Resource, SET, SUBTRACT,
};

pub(crate) type Request = IncrementalAlterConfigsRequest;

/// Changes the resources, each independently.
pub(crate) async fn handle(
    call: &Call<'_>,
    settings: &Settings<'_>,
    request: Request,
) -> IncrementalAlterConfigsResponse {
    let name = |wanted: &RequestResource| (wanted.resource_type, wanted.resource_name.clone());
    let validate_only = request.validate_only;
    let alter = async |wanted: &RequestResource| alter(call, settings, wanted, validate_only).await;
    let altered = alter_each(&request.resources, name, alter).await;
    let responses = altered.into_iter().map(resource).collect();
    IncrementalAlterConfigsResponse { responses, ..IncrementalAlterConfigsResponse::default() }
}

fn resource(altered: Altered) -> Resource {
    let Altered { resource_type, resource_name, error_code, error_message } = altered;
    Resource { error_code, error_message, resource_type, resource_name }
}

async fn alter(
    call: &Call<'_>,
    settings: &Settings<'_>,
    wanted: &RequestResource,
    validate_only: bool,
) -> Result<(), Refusal> {
    let target = target(call, settings, wanted.resource_type, &wanted.resource_name)?;
    require_each_once(wanted.configs.iter().map(|config| &config.name))?;
    let edits = wanted.configs.iter().map(edit).collect::<Result<_, _>>()?;
    settings.change(Change { target, edits, validate_only }).await
}

/// The owner of the settings to change, if this client may change them.
pub(crate) fn target(
    call: &Call<'_>,
    settings: &Settings<'_>,
    resource_type: i8,
    name: &str,
) -> Result<ConfigTarget, Refusal> {
    match resource_type {
        RESOURCE_TOPIC => {
            if !call.session.may(Operation::AlterConfigs, Guarded::Topic(name)) {
                return Err(Refusal::of(ErrorCode::TopicAuthorizationFailed));
            }
            if name.is_empty() {
                let cause = "a topic needs a name: brokers have the settings common to all topics";
                return Err(Refusal::because(ErrorCode::InvalidRequest, &cause));
            }
            Ok(ConfigTarget::Topic(name_of(name)?))
        }
        RESOURCE_BROKER => {
            if !call.session.may(Operation::AlterConfigs, Guarded::Cluster) {
                return Err(Refusal::of(ErrorCode::ClusterAuthorizationFailed));
            }
            Ok(ConfigTarget::Broker(broker_id(settings, name)?))
        }
        other => Err(no_settings(other)),
    }
}

fn edit(wanted: &RequestConfig) -> Result<ConfigEdit, Refusal> {
    let refused = |cause: &str| {
        let cause = format!("{}: {cause}", wanted.name);
        Err(Refusal::because(ErrorCode::InvalidRequest, &cause))
    };
    let name = wanted.name.clone();
    match (wanted.config_operation, wanted.value.clone()) {
        (DELETE, _) => Ok(ConfigEdit::Delete(name)),
        (SET, Some(value)) => Ok(ConfigEdit::Set(name, value)),
        (APPEND, Some(words)) => Ok(ConfigEdit::Append(name, words)),
        (SUBTRACT, Some(words)) => Ok(ConfigEdit::Subtract(name, words)),
        (SET | APPEND | SUBTRACT, None) => refused("a value is missing"),
        (other, _) => refused(&format!("operation {other} is unknown")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(config_operation: i8, value: Option<&str>) -> Result<ConfigEdit, ErrorCode> {
        let value = value.map(str::to_owned);
        edit(&RequestConfig { name: "a".to_owned(), config_operation, value })
            .map_err(|refusal| refusal.code)
    }

    #[test]
    fn only_a_deletion_needs_no_value() {
        let (name, value) = (|| "a".to_owned(), || "1".to_owned());
        assert_eq!(asked(SET, Some("1")), Ok(ConfigEdit::Set(name(), value())));
        assert_eq!(asked(APPEND, Some("1")), Ok(ConfigEdit::Append(name(), value())));
        assert_eq!(asked(SUBTRACT, Some("1")), Ok(ConfigEdit::Subtract(name(), value())));
        assert_eq!(asked(DELETE, None), Ok(ConfigEdit::Delete(name())));
        for operation in [SET, APPEND, SUBTRACT, 9] {
            assert_eq!(asked(operation, None), Err(ErrorCode::InvalidRequest));
        }
    }
}
