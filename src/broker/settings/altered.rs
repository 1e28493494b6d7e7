//! Changing the settings of several resources, for `AlterConfigs` and `IncrementalAlterConfigs`.

use crate::broker::errors::Refusal;
use crate::broker::topics::{named_twice, repeated};
use crate::wire::ErrorCode;

/// The result of changing one resource's settings.
#[derive(Debug)]
pub(crate) struct Altered {
    /// The resource type: a topic or a broker, as numbered in the protocol.
    pub(crate) resource_type: i8,
    /// The name of the resource.
    pub(crate) resource_name: String,
    /// The error code, or `None` on success.
    pub(crate) error_code: ErrorCode,
    /// The error message.
    pub(crate) error_message: Option<String>,
}

/// Changes resources in turn; each succeeds or fails as a whole. A resource that is named twice is
/// refused both times, since the intended result is not clear.
pub(crate) async fn alter_each<R>(
    resources: &[R],
    name: impl Fn(&R) -> (i8, String),
    alter: impl AsyncFn(&R) -> Result<(), Refusal>,
) -> Vec<Altered> {
    let repeated = repeated(resources.iter().map(&name));
    let mut all = Vec::with_capacity(resources.len());
    for resource in resources {
        let name = name(resource);
        let done =
            if repeated.contains(&name) { Err(named_twice()) } else { alter(resource).await };
        let (error_code, error_message) = match done {
            Ok(()) => (ErrorCode::None, None),
            Err(refusal) => (refusal.code, refusal.message),
        };
        let (resource_type, resource_name) = name;
        all.push(Altered { resource_type, resource_name, error_code, error_message });
    }
    all
}

/// Refuses the changes of a resource if they name a setting more than once.
pub(crate) fn require_each_once<'a>(
    names: impl Iterator<Item = &'a String>,
) -> Result<(), Refusal> {
    if repeated(names).is_empty() {
        return Ok(());
    }
    Err(Refusal::because(ErrorCode::InvalidRequest, &"a setting is named more than once"))
}
