//! `CreatePartitions`: adds partitions to topics.

use std::collections::HashSet;
use std::time::Duration;

use crate::broker::access::{Growth, Topics};
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::broker::topics::{name_of, named_twice, repeated, wait_limit};
use crate::types::BrokerId;
use crate::wire::ErrorCode;
use crate::wire::create_partitions::{
    Assignment, CreatePartitionsRequest, CreatePartitionsResponse, RequestTopic, Topic,
};

pub(crate) type Request = CreatePartitionsRequest;

/// Extends the topics in turn; each succeeds or fails independently.
pub(crate) async fn handle(
    call: &Call<'_>,
    topics: &Topics<'_>,
    mut request: Request,
) -> CreatePartitionsResponse {
    let repeated = repeated(request.topics.iter().map(|topic| topic.name.clone()));
    let within = (!request.validate_only).then(|| wait_limit(request.timeout_ms));
    let extension = Extension { call, topics, within };
    let mut planned = Vec::new();
    let mut results = Vec::with_capacity(request.topics.len());
    let mut seen = HashSet::new();
    request.topics.retain(|topic| seen.insert(topic.name.clone()));
    for wanted in request.topics {
        let extended = if repeated.contains(&wanted.name) {
            Err(named_twice())
        } else {
            extension.extend(&wanted, &mut planned).await
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

/// The extension of the topics of one request.
struct Extension<'a> {
    call: &'a Call<'a>,
    topics: &'a Topics<'a>,
    /// The time within which the partitions must be usable; `None` if they are only validated.
    within: Option<Duration>,
}

impl Extension<'_> {
    /// Extends one topic, or validates the extension together with the partitions in `planned`.
    async fn extend(
        &self,
        wanted: &RequestTopic,
        planned: &mut Vec<Vec<BrokerId>>,
    ) -> Result<(), Refusal> {
        if !self.call.session.may(Operation::Alter, Resource::Topic(&wanted.name)) {
            return Err(Refusal::of(ErrorCode::TopicAuthorizationFailed));
        }
        let replicas =
            |assignment: &Assignment| assignment.broker_ids.iter().copied().map(BrokerId).collect();
        let growth = Growth {
            topic: name_of(&wanted.name)?,
            total: wanted.count,
            assignment: wanted.assignments.iter().flatten().map(replicas).collect(),
        };
        if let Some(within) = self.within {
            return self.topics.extend(growth, within).await;
        }
        let replicas = self.topics.check_growth(growth).await?;
        self.topics.plan(planned, replicas)
    }
}
