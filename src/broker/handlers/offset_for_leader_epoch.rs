//! `OffsetForLeaderEpoch`: the end offset of a leader epoch, by which a reader detects that its log
//! has diverged.

use crate::broker::access::{LedPartitions, OfTopic, Query};
use crate::broker::authorize::Operation;
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::replication::{Partition, PartitionError};
use crate::types::{LeaderEpoch, Offset};
use crate::wire::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, Partition as PartitionAnswer,
    RequestPartition, RequestTopic, Topic,
};

pub(crate) type Request = OffsetForLeaderEpochRequest;

/// A query for the end of a leader epoch.
#[derive(Clone, Copy, Debug)]
struct EpochQuery {
    leader_epoch: LeaderEpoch,
    current_leader_epoch: LeaderEpoch,
}

/// Looks up every epoch.
pub(crate) async fn handle(
    _: &Call<'_>,
    led: &LedPartitions<'_>,
    request: Request,
) -> OffsetForLeaderEpochResponse {
    let mut queries = Vec::with_capacity(request.topics.len());
    for RequestTopic { topic: name, partitions: wanted } in request.topics {
        let mut partitions = Vec::with_capacity(wanted.len());
        for wanted in &wanted {
            partitions.push((wanted.partition, query(led, &name, wanted).await));
        }
        queries.push(OfTopic { name, partitions });
    }
    let topic = |answered: OfTopic<_>| {
        let (topic, partitions) = answered.rows(answer);
        Topic { topic, partitions }
    };
    let topics = led.query(queries, find).await.into_iter().map(topic).collect();
    OffsetForLeaderEpochResponse { topics, ..OffsetForLeaderEpochResponse::default() }
}

/// The query for a partition, which is opened, if the client may make it.
async fn query(
    led: &LedPartitions<'_>,
    topic: &str,
    wanted: &RequestPartition,
) -> Result<Query<EpochQuery>, Refusal> {
    let partition = led.find(topic, wanted.partition, Operation::Describe).await?;
    let leader_epoch = LeaderEpoch(wanted.leader_epoch);
    let current_leader_epoch = LeaderEpoch(wanted.current_leader_epoch);
    Ok((partition, EpochQuery { leader_epoch, current_leader_epoch }))
}

fn find(
    partition: &Partition,
    query: EpochQuery,
) -> Result<Option<(LeaderEpoch, Offset)>, PartitionError> {
    partition.check_epoch(query.current_leader_epoch)?;
    let end = partition.epoch_end(query.leader_epoch)?;
    // Behind the look at the log, which may have waited for the disk.
    partition.check_may_answer()?;
    Ok(end)
}

fn answer(
    partition: i32,
    found: Result<Option<(LeaderEpoch, Offset)>, Refusal>,
) -> PartitionAnswer {
    let mut answer = PartitionAnswer { partition, ..PartitionAnswer::default() };
    match found {
        Ok(Some((epoch, end))) => {
            answer.leader_epoch = epoch.0;
            answer.end_offset = end.get();
        }
        // Both are −1: the epoch is unknown.
        Ok(None) => {}
        Err(refusal) => answer.error_code = refusal.code,
    }
    answer
}
