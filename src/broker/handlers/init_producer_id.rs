//! `InitProducerId`: the id that makes a producer's retries idempotent.

use crate::broker::access::Cluster;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::types::ProducerId;
use crate::wire::ErrorCode;
use crate::wire::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};

pub(crate) type Request = InitProducerIdRequest;

/// Assigns a new producer id.
pub(crate) async fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    request: Request,
) -> InitProducerIdResponse {
    match new_id(call, cluster, &request).await {
        Ok(ProducerId(producer_id)) => {
            InitProducerIdResponse { producer_id, ..InitProducerIdResponse::default() }
        }
        Err(refusal) => {
            tracing::debug!(peer = %call.session.identity().peer, "no producer id: {refusal}");
            InitProducerIdResponse {
                error_code: refusal.code,
                producer_epoch: -1,
                ..InitProducerIdResponse::default()
            }
        }
    }
}

async fn new_id(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    request: &Request,
) -> Result<ProducerId, Refusal> {
    if request.transactional_id.as_deref() == Some("") {
        return Err(Refusal::because(ErrorCode::InvalidRequest, &"the transactional id is empty"));
    }
    if (request.producer_id < 0) != (request.producer_epoch < 0) {
        let cause = "a producer id and its epoch must be sent together";
        return Err(Refusal::because(ErrorCode::InvalidRequest, &cause));
    }
    if request.transactional_id.is_some() {
        // Clients show this code as "not supported", and nearly all give up at once. librdkafka
        // retries until the timeout of `init_transactions` and shows the code then: it gives up at
        // once only on codes about permissions, timeouts or fenced producers.
        let peer = call.session.identity().peer;
        tracing::warn!(%peer, "refused a producer that wants transactions");
        let code = ErrorCode::UnsupportedVersion;
        return Err(Refusal::because(code, &"transactions are not supported"));
    }
    if !call.session.may(Operation::IdempotentWrite, Resource::Cluster) {
        return Err(Refusal::of(ErrorCode::ClusterAuthorizationFailed));
    }
    cluster.new_producer_id().await
}
