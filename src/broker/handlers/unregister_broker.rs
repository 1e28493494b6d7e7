//! `UnregisterBroker`: removes a broker that will not return.

use crate::broker::access::Cluster;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::metadata::UnregisterError;
use crate::types::BrokerId;
use crate::wire::ErrorCode;
use crate::wire::unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse};

pub(crate) type Request = UnregisterBrokerRequest;

/// Unregisters the broker, unless it is alive or has replicas.
pub(crate) async fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    request: Request,
) -> UnregisterBrokerResponse {
    let forgotten = if call.session.may(Operation::Alter, Resource::Cluster) {
        let forgotten = cluster.unregister(BrokerId(request.broker_id)).await;
        forgotten.and_then(|forgotten| forgotten.map_err(refusal))
    } else {
        Err(Refusal::of(ErrorCode::ClusterAuthorizationFailed))
    };
    let Refusal { code: error_code, message: error_message, .. } =
        forgotten.err().unwrap_or_else(|| Refusal::of(ErrorCode::None));
    UnregisterBrokerResponse { error_code, error_message, ..UnregisterBrokerResponse::default() }
}

fn refusal(error: UnregisterError) -> Refusal {
    let code = match error {
        UnregisterError::Metadata(error) => return error.into(),
        UnregisterError::Unknown(_) => ErrorCode::BrokerIdNotRegistered,
        UnregisterError::Registered(_) | UnregisterError::HasReplicas { .. } => {
            ErrorCode::InvalidRequest
        }
    };
    Refusal::because(code, &error)
}
