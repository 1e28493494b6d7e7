//! `AlterConfigs`: replaces all settings of a resource. Settings not in the request are reset to
//! their inherited values, except for the topic setting that cannot change.

use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::broker::handlers::incremental_alter_configs::target;
use crate::broker::settings::{Altered, Change, Settings, alter_each, require_each_once};
use crate::engine::OFFSET_UNIT;
use crate::metadata::{ConfigEdit, ConfigTarget, Image};
use crate::wire::ErrorCode;
use crate::wire::alter_configs::{
    AlterConfigsRequest, AlterConfigsResponse, RequestConfig, RequestResource, Resource,
};

pub(crate) type Request = AlterConfigsRequest;

/// Changes the resources, each independently.
pub(crate) async fn handle(
    call: &Call<'_>,
    settings: &Settings<'_>,
    request: Request,
) -> AlterConfigsResponse {
    let name = |wanted: &RequestResource| (wanted.resource_type, wanted.resource_name.clone());
    let validate_only = request.validate_only;
    let replace =
        async |wanted: &RequestResource| replace(call, settings, wanted, validate_only).await;
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
    settings: &Settings<'_>,
    wanted: &RequestResource,
    validate_only: bool,
) -> Result<(), Refusal> {
    let target = target(call, settings, wanted.resource_type, &wanted.resource_name)?;
    require_each_once(wanted.configs.iter().map(|config| &config.name))?;
    let sets = wanted.configs.iter().map(set).collect::<Result<Vec<_>, _>>()?;
    let kept = fixed_setting(&settings.image(), &target);
    let edits = [ConfigEdit::Clear].into_iter().chain(kept).chain(sets).collect();
    settings.change(Change { target, edits, validate_only }).await
}

/// The edit that keeps the immutable setting of a topic. A request that contradicts the setting is
/// refused.
fn fixed_setting(image: &Image, target: &ConfigTarget) -> Option<ConfigEdit> {
    let ConfigTarget::Topic(name) = target else { return None };
    let unit = image.topic(name)?.configs.get(OFFSET_UNIT)?.clone();
    Some(ConfigEdit::Set(OFFSET_UNIT.to_owned(), unit))
}

fn set(wanted: &RequestConfig) -> Result<ConfigEdit, Refusal> {
    let missing = || {
        let cause = format!("{}: a value is missing", wanted.name);
        Refusal::because(ErrorCode::InvalidRequest, &cause)
    };
    let value = wanted.value.clone().ok_or_else(missing)?;
    Ok(ConfigEdit::Set(wanted.name.clone(), value))
}
