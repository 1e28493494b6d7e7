//! `FindCoordinator`: the broker that coordinates a group. The first request creates the internal
//! topic.

use std::sync::Arc;

use crate::broker::access::{Addresses, Cluster};
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::Groups;
use crate::broker::errors::Refusal;
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
pub(crate) async fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    groups: &Groups<'_>,
    addresses: &Addresses<'_>,
    request: Request,
) -> FindCoordinatorResponse {
    let keys =
        if call.version <= LAST_SINGLE { vec![request.key] } else { request.coordinator_keys };
    let mut coordinators = Vec::with_capacity(keys.len());
    for key in keys {
        let found = match request.key_type {
            KEY_TYPE_GROUP => of_group(call, groups, &key).await,
            // Transactions are not supported. Clients give up only on an error of `InitProducerId`,
            // which any broker can return; on an error of `FindCoordinator` they retry.
            KEY_TYPE_TRANSACTION => Ok((cluster.image(), Some(cluster.broker_id()))),
            _ => {
                let cause = "the key type is unknown";
                Err(Refusal::because(ErrorCode::InvalidRequest, &cause))
            }
        };
        let found = found.and_then(|(image, broker)| address(addresses, &image, broker));
        coordinators.push(match found {
            Ok(coordinator) => Coordinator { key, ..coordinator },
            Err(refusal) => refused(key, refusal),
        });
    }
    answer(call.version, coordinators)
}

async fn of_group(
    call: &Call<'_>,
    groups: &Groups<'_>,
    key: &str,
) -> Result<(Arc<Image>, Option<BrokerId>), Refusal> {
    if !call.session.may(Operation::Describe, Resource::Group(key)) {
        return Err(Refusal::of(ErrorCode::GroupAuthorizationFailed));
    }
    groups.find_coordinator(&GroupId::from(key)).await.map_err(unavailable)
}

fn address(
    addresses: &Addresses<'_>,
    image: &Image,
    broker: Option<BrokerId>,
) -> Result<Coordinator, Refusal> {
    let known = addresses.brokers(image);
    let found = broker.and_then(|id| known.into_iter().find(|known| known.node_id == id.0));
    let broker = found.ok_or_else(|| Refusal::of(ErrorCode::CoordinatorNotAvailable))?;
    Ok(Coordinator {
        node_id: broker.node_id,
        host: broker.host,
        port: broker.port,
        ..Coordinator::default()
    })
}

/// Turns the failure to create the internal topic into an error on which clients retry.
fn unavailable(refusal: Refusal) -> Refusal {
    tracing::warn!("the internal topic of groups cannot be created: {refusal}");
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
