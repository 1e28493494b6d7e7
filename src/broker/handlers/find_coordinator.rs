//! `FindCoordinator`: the broker that coordinates a group. The first request creates the internal
//! topic.

use std::sync::Arc;

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::{coordinator_of, ensure_offsets_topic};
use crate::broker::errors::Refusal;
use crate::broker::handlers::metadata::brokers;
use crate::group::GroupId;
use crate::metadata::Image;
use crate::types::BrokerId;
use crate::wire::ErrorCode;
use crate::wire::find_coordinator::{
    Coordinator, FindCoordinatorRequest, FindCoordinatorResponse, KEY_TYPE_GROUP,
    KEY_TYPE_TRANSACTION,
};

pub(crate) type Request = FindCoordinatorRequest;

/// The last version with a single key.
const LAST_SINGLE: i16 = 3;

/// Returns the coordinator of each key.
pub(crate) async fn handle(call: &Call<'_>, request: Request) -> FindCoordinatorResponse {
    let keys =
        if call.version <= LAST_SINGLE { vec![request.key] } else { request.coordinator_keys };
    let mut coordinators = Vec::with_capacity(keys.len());
    for key in keys {
        coordinators.push(match find(call, request.key_type, &key).await {
            Ok(coordinator) => Coordinator { key, ..coordinator },
            Err(refusal) => refused(key, refusal),
        });
    }
    answer(call.version, coordinators)
}

async fn find(call: &Call<'_>, key_type: i8, key: &str) -> Result<Coordinator, Refusal> {
    match key_type {
        KEY_TYPE_GROUP => {
            if !call.session.may(Operation::Describe, Resource::Group(key)) {
                return Err(Refusal::of(ErrorCode::GroupAuthorizationFailed));
            }
            let image =
                ensure_offsets_topic(&call.shared.engine, &call.shared.config.offsets_topic)
                    .await
                    .map_err(unavailable)?;
            address(call, &image, coordinator_of(&image, &GroupId::from(key)))
        }
        // Transactions are not supported. Clients give up only on the error of `InitProducerId`,
        // which any broker can return; they would retry on an error here.
        KEY_TYPE_TRANSACTION => {
            let image = call.shared.engine.image();
            address(call, &image, Some(call.shared.config.engine.broker_id))
        }
        _ => Err(Refusal::because(ErrorCode::InvalidRequest, &"keys of this type are not known")),
    }
}

fn address(
    call: &Call<'_>,
    image: &Arc<Image>,
    broker: Option<BrokerId>,
) -> Result<Coordinator, Refusal> {
    let known = brokers(call, image);
    let found = broker.and_then(|id| known.into_iter().find(|known| known.node_id == id.0));
    let broker = found.ok_or_else(|| Refusal::of(ErrorCode::CoordinatorNotAvailable))?;
    Ok(Coordinator {
        node_id: broker.node_id,
        host: broker.host,
        port: broker.port,
        ..Coordinator::default()
    })
}

/// Maps every error that kept the internal topic from being created to one that clients retry on.
fn unavailable(refusal: Refusal) -> Refusal {
    tracing::warn!("the internal topic of groups cannot be made: {refusal}");
    Refusal { code: ErrorCode::CoordinatorNotAvailable, ..refusal }
}

fn refused(key: String, refusal: Refusal) -> Coordinator {
    Coordinator {
        key,
        node_id: -1,
        host: String::new(),
        port: -1,
        error_code: refusal.code,
        error_message: refusal.message,
    }
}

fn answer(version: i16, mut coordinators: Vec<Coordinator>) -> FindCoordinatorResponse {
    if version > LAST_SINGLE {
        return FindCoordinatorResponse { coordinators, ..FindCoordinatorResponse::default() };
    }
    let coordinator = coordinators.pop().unwrap_or_default();
    FindCoordinatorResponse {
        error_code: coordinator.error_code,
        error_message: coordinator.error_message,
        node_id: coordinator.node_id,
        host: coordinator.host,
        port: coordinator.port,
        ..FindCoordinatorResponse::default()
    }
}
