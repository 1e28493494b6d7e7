//! `ListOffsets`: where a partition begins and ends, and what was first at a time.

use std::sync::Arc;

use crate::broker::authorize::{Operation, Resource};
use crate::broker::dispatch::Call;
use crate::broker::errors::Refusal;
use crate::replication::{Partition, PartitionError};
use crate::storage::RecordAt;
use crate::types::{LeaderEpoch, PartitionIndex, Timestamp};
use crate::wire::ErrorCode;
use crate::wire::list_offsets::{
    EARLIEST, EARLIEST_LOCAL, LATEST, ListOffsetsRequest, ListOffsetsResponse, MAX_TIMESTAMP,
    Partition as PartitionAnswer, RequestPartition, Topic,
};

pub(crate) type Request = ListOffsetsRequest;

/// Looks every offset up.
pub(crate) async fn handle(call: &Call<'_>, request: Request) -> ListOffsetsResponse {
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for wanted in &topic.partitions {
            partitions.push(look_up(call, &topic.name, wanted).await);
        }
        topics.push(Topic { name: topic.name, partitions });
    }
    ListOffsetsResponse { topics, ..ListOffsetsResponse::default() }
}

async fn look_up(call: &Call<'_>, topic: &str, wanted: &RequestPartition) -> PartitionAnswer {
    let mut answer =
        PartitionAnswer { partition_index: wanted.partition_index, ..PartitionAnswer::default() };
    match find(call, topic, wanted).await {
        Ok(Some(found)) => {
            answer.timestamp = found.timestamp.millis();
            answer.offset = found.offset.get();
            answer.leader_epoch = found.epoch.0;
        }
        // No record is so late.
        Ok(None) => {}
        Err(refusal) => answer.error_code = refusal.code,
    }
    answer
}

async fn find(
    call: &Call<'_>,
    topic: &str,
    wanted: &RequestPartition,
) -> Result<Option<RecordAt>, Refusal> {
    if !call.session.may(Operation::Describe, Resource::Topic(topic)) {
        return Err(Refusal::of(ErrorCode::TopicAuthorizationFailed));
    }
    let partition = call
        .shared
        .partitions
        .get(topic, PartitionIndex(wanted.partition_index))
        .ok_or_else(|| Refusal::of(ErrorCode::UnknownTopicOrPartition))?;
    call.open(&partition).await;
    let epoch = LeaderEpoch(wanted.current_leader_epoch);
    let look = || {
        partition.check_epoch(Some(epoch).filter(|epoch| *epoch != LeaderEpoch::NONE))?;
        offset_of(&partition, wanted.timestamp)
    };
    look().map_err(|error: PartitionError| Refusal::from(&error))
}

fn offset_of(
    partition: &Arc<Partition>,
    timestamp: i64,
) -> Result<Option<RecordAt>, PartitionError> {
    match timestamp {
        LATEST => Ok(Some(partition.latest())),
        EARLIEST | EARLIEST_LOCAL => Ok(Some(partition.earliest())),
        MAX_TIMESTAMP => partition.latest_by_time(),
        _ => partition.first_at(Timestamp::from_millis(timestamp)),
    }
}
