//! The way of a fetch request from its frame to the frame of its response.

use super::parked::read_enough;
use super::reading::Fetch;
use super::replica::{FetchingFollower, sender};
use super::response::{Answered, encode};
use super::session::FetchSessions;
use crate::broker::access::LedPartitions;
use crate::broker::call::{Call, Unanswerable};
use crate::net::Piece;
use crate::replication::FetchingReplica;
use crate::storage::StoredBatches;
use crate::wire::fetch::{FetchRequest, FetchResponse};
use crate::wire::{ErrorCode, Reader, RequestHeader};

/// Answers a fetch request.
pub(crate) async fn answer(
    call: &Call<'_>,
    led: LedPartitions<'_>,
    sessions: &FetchSessions,
    (header, mut body): (&RequestHeader<'_>, Reader<'_>),
) -> Result<Vec<Piece>, Unanswerable> {
    let mut request: FetchRequest = header.decode_body(&mut body)?;
    let (response, records) = match in_session(call, led, sessions, &mut request).await {
        Ok(answer) => answer,
        Err(error_code) => (FetchResponse { error_code, ..FetchResponse::default() }, Vec::new()),
    };
    encode(header, &response, &records)
}

/// Fetches the request's partitions, or those of its session, and reduces the response to changes.
///
/// # Errors
/// The error code of the whole response, if the sender is not the follower that it claims to be, or
/// the request does not fit its session.
async fn in_session(
    call: &Call<'_>,
    led: LedPartitions<'_>,
    sessions: &FetchSessions,
    request: &mut FetchRequest,
) -> Result<(FetchResponse, Vec<StoredBatches>), ErrorCode> {
    let replica = sender(led, request)?;
    let exchange = sessions.begin(request, call.version, led.monotonic())?;
    let follower = replica.map(|replica| FetchingFollower {
        replica: FetchingReplica { follows: exchange.follows(), ..replica },
        exchange: &exchange,
    });
    let topics = std::mem::take(&mut request.topics);
    let mut fetch = Fetch::open(led, call.version, request, topics, follower).await;
    read_enough(&mut fetch, led, call.cancel).await;
    fetch.yield_damaged(led);
    fetch.check_may_answer();
    fetch.note_answers();
    if fetch.is_refused() {
        tracing::debug!(peer = %call.session.identity().peer, "a fetch is answered with errors");
    }
    let answered = Answered::from(fetch);
    let node_endpoints = answered.node_endpoints(led);
    let Answered { mut topics, records } = answered;
    // The session leaves out only partitions without records, so `records` still has the places of
    // exactly the partitions in the response.
    let session_id = exchange.finish(&mut topics, led.monotonic())?;
    let response = FetchResponse { session_id, topics, node_endpoints, ..Default::default() };
    Ok((response, records))
}
