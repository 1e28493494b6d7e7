//! `AlterConfigs`: all settings of a resource are replaced; those not named are inherited again.

use crate::broker::dispatch::Call;
use crate::broker::errors::Refusal;
use crate::broker::handlers::incremental_alter_configs::target;
use crate::broker::settings::{Altered, Change, alter_each, change};
use crate::metadata::ConfigEdit;
use crate::wire::ErrorCode;
use crate::wire::alter_configs::{
    AlterConfigsRequest, AlterConfigsResponse, RequestConfig, RequestResource, Resource,
};

pub(crate) type Request = AlterConfigsRequest;

/// Changes the resources, each by itself.
pub(crate) async fn handle(call: &Call<'_>, request: Request) -> AlterConfigsResponse {
    let name = |wanted: &RequestResource| (wanted.resource_type, wanted.resource_name.clone());
    let replace =
        async |wanted: &RequestResource| replace(call, wanted, request.validate_only).await;
    let altered = alter_each(&request.resources, name, replace).await;
    let responses = altered.into_iter().map(resource).collect();
    AlterConfigsResponse { responses, ..AlterConfigsResponse::default() }
}

fn resource(altered: Altered) -> Resource {
    let Altered { resource_type, resource_name, error_code, error_message } = altered;
    Resource { error_code, error_message, resource_type, resource_name }
}

async fn replace(
    call: &Call<'_>,
    wanted: &RequestResource,
    validate_only: bool,
) -> Result<(), Refusal> {
    let target = target(call, wanted.resource_type, &wanted.resource_name)?;
    let sets = wanted.configs.iter().map(set).collect::<Result<Vec<_>, _>>()?;
    let edits = [ConfigEdit::Clear].into_iter().chain(sets).collect();
    change(call.shared, Change { target, edits, validate_only }).await
}

fn set(wanted: &RequestConfig) -> Result<ConfigEdit, Refusal> {
    let missing = || {
        let cause = format!("{}: a value is missing", wanted.name);
        Refusal::because(ErrorCode::InvalidRequest, &cause)
    };
    let value = wanted.value.clone().ok_or_else(missing)?;
    Ok(ConfigEdit::Set(wanted.name.clone(), value))
}
