//! The requests of consumers in a group, as frames to a broker.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::offset_fetch::{self, OffsetFetchRequest};
use streamlog::wire::{ErrorCode, Message, decode_response, encode_request};
use tokio::time::sleep;

use crate::network::Place;
use crate::world::{MACHINES, PARTITIONS, TOPIC, World};

/// The id of the group.
pub(super) const GROUP: &str = "g";

/// The number under which brokers know the machine of the clients.
const CLIENTS: usize = MACHINES;

/// The length of a frame comes before it.
const PREFIX: usize = 4;

/// The longest time until a request is answered when all brokers run.
const ANSWERED_MAX: Duration = Duration::from_mins(1);

/// The pause before a request that failed is repeated.
const PAUSE: Duration = Duration::from_millis(100);

/// The offsets of partitions.
pub(super) type Offsets = BTreeMap<i32, i64>;

/// Sends a request of a client with this name to a machine.
pub(super) async fn call<R: Message>(
    (world, name): (&Arc<World>, &str),
    to: usize,
    version: i16,
    request: &R,
) -> Result<R::Response, ErrorCode> {
    let frame = encode_request(0, name, version, request).unwrap().into_bytes();
    let ask = world
        .ask((Place::Clients, to), move |broker| broker.answer(CLIENTS, frame.slice(PREFIX..)));
    let answer = ask.await.flatten().ok_or(ErrorCode::NetworkException)?;
    Ok(decode_response::<R>(&answer, version).unwrap().1)
}

/// Fails with the error of a response, if it has one.
pub(super) fn accepted(code: ErrorCode) -> Result<(), ErrorCode> {
    if code.is_error() { Err(code) } else { Ok(()) }
}

/// The machine whose broker coordinates the group, as another broker reports it.
pub(super) async fn coordinator(world: &Arc<World>, asked: usize) -> Result<usize, ErrorCode> {
    let coordinator_keys = vec![GROUP.to_owned()];
    let request = FindCoordinatorRequest { coordinator_keys, ..FindCoordinatorRequest::default() };
    let response = call((world, "finder"), asked, 4, &request).await?;
    let found = &response.coordinators[0];
    accepted(found.error_code)?;
    Ok(usize::try_from(found.node_id).unwrap())
}

/// The offsets that the group has committed; partitions without one are absent.
pub(super) async fn committed(
    world: &Arc<World>,
    coordinator: usize,
    partition_indexes: Vec<i32>,
) -> Result<Offsets, ErrorCode> {
    let name = TOPIC.to_owned();
    let topic = offset_fetch::RequestTopic {
        name,
        partition_indexes,
        ..offset_fetch::RequestTopic::default()
    };
    let request = OffsetFetchRequest {
        group_id: GROUP.to_owned(),
        topics: Some(vec![topic]),
        ..OffsetFetchRequest::default()
    };
    let response = call((world, "reader"), coordinator, 7, &request).await?;
    accepted(response.error_code)?;
    let mut offsets = Offsets::new();
    for partition in response.topics.iter().flat_map(|topic| &topic.partitions) {
        accepted(partition.error_code)?;
        if partition.committed_offset >= 0 {
            offsets.insert(partition.partition_index, partition.committed_offset);
        }
    }
    Ok(offsets)
}

/// Has the brokers create the topic of the committed offsets.
pub(crate) async fn create_offsets_topic(world: &Arc<World>) {
    let begun = world.clock.elapsed();
    while coordinator(world, 0).await.is_err() {
        if world.is_over("the topic of committed offsets is created", begun, ANSWERED_MAX) {
            return;
        }
        sleep(PAUSE).await;
    }
}

/// Judges the offsets that the group has committed, once nobody commits any more.
pub(crate) async fn judge_offsets(world: &Arc<World>) {
    let all = || (0..).take(PARTITIONS).collect();
    let (mut asked, begun) = (0, world.clock.elapsed());
    while !world.is_over("the committed offsets can be read at last", begun, ANSWERED_MAX) {
        let Some(floor) = world.check(|checkers| Ok(checkers.group.floor())) else { return };
        let found = match coordinator(world, asked % MACHINES).await {
            Ok(coordinator) => committed(world, coordinator, all()).await,
            Err(code) => Err(code),
        };
        if let Ok(offsets) = found {
            world.check(|_| floor.judge(&offsets));
            return;
        }
        asked += 1;
        sleep(PAUSE).await;
    }
}
