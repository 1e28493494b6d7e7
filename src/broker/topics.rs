//! The names of topics in requests, and the time that a request allows for changes of topics.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use crate::broker::errors::Refusal;
use crate::engine::APPLIED_WITHIN;
use crate::types::{InvalidTopicName, TopicName};
use crate::wire::ErrorCode;

/// The names that occur more than once in a request, so that the intended result is not clear.
pub(crate) fn repeated<K: Clone + Eq + Hash>(names: impl Iterator<Item = K>) -> HashSet<K> {
    let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
    for name in names {
        if !seen.insert(name.clone()) {
            repeated.insert(name);
        }
    }
    repeated
}

/// The refusal of a name that occurs more than once in a request.
pub(crate) fn named_twice() -> Refusal {
    Refusal::because(ErrorCode::InvalidRequest, &"it is named more than once in the request")
}

/// Parses the name of a topic that users may change.
pub(crate) fn name_of(text: &str) -> Result<TopicName, Refusal> {
    let invalid =
        |cause: &dyn fmt::Display| Refusal::because(ErrorCode::InvalidTopicException, cause);
    let name: TopicName = text.parse().map_err(|error: InvalidTopicName| invalid(&error))?;
    if name.is_internal() {
        return Err(invalid(&format!("'{name}' is the broker's own")));
    }
    Ok(name)
}

/// The time that a response may wait for a change to be applied, based on the request's timeout.
/// Without a minimum, clients that pass 0 would get an error although the change takes
/// milliseconds.
pub(crate) fn wait_limit(timeout_ms: i32) -> Duration {
    let asked = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
    asked.clamp(Duration::from_secs(1), APPLIED_WITHIN)
}
