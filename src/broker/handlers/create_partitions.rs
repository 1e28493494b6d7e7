//! `CreatePartitions`: adds partitions to topics.

use std::collections::HashSet;
use std::time::Duration;

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::broker::topics::{
    Growth, check_growth, create_partitions, name_of, named_twice, plan_partitions, repeated,
    wait_limit,
};
use crate::types::BrokerId;
use crate::wire::ErrorCode;
use crate::wire::create_partitions::{
    Assignment, CreatePartitionsRequest, CreatePartitionsResponse, RequestTopic, Topic,
};

pub(crate) type Request = CreatePartitionsRequest;

/// Extends the topics in turn; each succeeds or fails independently.
pub(crate) async fn handle(call: &Call<'_>, mut request: Request) -> CreatePartitionsResponse {
    let repeated = repeated(request.topics.iter().map(|topic| topic.name.clone()));
    let within = (!request.validate_only).then(|| wait_limit(request.timeout_ms));
    let mut planned = Vec::new();
    let mut results = Vec::with_capacity(request.topics.len());
    let mut seen = HashSet::new();
    request.topics.retain(|topic| seen.insert(topic.name.clone()));
    for wanted in request.topics {
        let extended = if repeated.contains(&wanted.name) {
            Err(named_twice())
        } else {
            extend(call, &wanted, within, &mut planned).await
        };
        let refusal = extended.err();
        results.push(Topic {
            name: wanted.name,
            error_code: refusal.as_ref().map_or(ErrorCode::None, |refusal| refusal.code),
            error_message: refusal.and_then(|refusal| refusal.message),
        });
    }
    CreatePartitionsResponse { results, ..CreatePartitionsResponse::default() }
}

/// Extends one topic. Without `within` it is only validated, together with the partitions in
/// `planned`.
async fn extend(
    call: &Call<'_>,
    wanted: &RequestTopic,
    within: Option<Duration>,
    planned: &mut Vec<Vec<BrokerId>>,
) -> Result<(), Refusal> {
    if !call.session.may(Operation::Alter, Resource::Topic(&wanted.name)) {
        return Err(Refusal::of(ErrorCode::TopicAuthorizationFailed));
    }
    let replicas =
        |assignment: &Assignment| assignment.broker_ids.iter().copied().map(BrokerId).collect();
    let growth = Growth {
        topic: name_of(&wanted.name)?,
        total: wanted.count,
        assignment: wanted.assignments.iter().flatten().map(replicas).collect(),
    };
    if let Some(within) = within {
        return create_partitions(call.shared, growth, within).await;
    }
    let replicas = check_growth(call.shared, growth).await?;
    plan_partitions(call.shared, planned, replicas)
}
