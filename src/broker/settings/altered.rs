//! Changing the settings of several resources, as two APIs ask for it.

use crate::broker::errors::Refusal;
use crate::broker::topics::{named_twice, repeated};
use crate::wire::ErrorCode;

/// What became of one resource's settings.
#[derive(Debug)]
pub(crate) struct Altered {
    /// A topic or a broker, as the protocol numbers them.
    pub(crate) resource_type: i8,
    /// Which one.
    pub(crate) resource_name: String,
    /// That they were changed, or why not.
    pub(crate) error_code: ErrorCode,
    /// The same for people.
    pub(crate) error_message: Option<String>,
}

/// Changes resources one after another; each succeeds or fails by itself, as a whole. Of one that
/// is named twice nobody can tell what is meant: it is refused each time.
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
