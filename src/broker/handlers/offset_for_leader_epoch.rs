//! `OffsetForLeaderEpoch`: the end offset of a leader epoch, by which a reader detects that its log
//! has diverged.

use crate::broker::access::LedPartitions;
use crate::broker::authorize::Operation;
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::replication::PartitionError;
use crate::types::{LeaderEpoch, Offset};
use crate::wire::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, Partition, RequestPartition, Topic,
};

pub(crate) type Request = OffsetForLeaderEpochRequest;

/// Looks up every epoch.
pub(crate) async fn handle(
    _: &Call<'_>,
    led: &LedPartitions<'_>,
    request: Request,
) -> OffsetForLeaderEpochResponse {
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for wanted in &topic.partitions {
            partitions.push(look_up(led, &topic.topic, wanted).await);
        }
        topics.push(Topic { topic: topic.topic, partitions });
    }
    OffsetForLeaderEpochResponse { topics, ..OffsetForLeaderEpochResponse::default() }
}

async fn look_up(led: &LedPartitions<'_>, topic: &str, wanted: &RequestPartition) -> Partition {
    let mut answer = Partition { partition: wanted.partition, ..Partition::default() };
    match find(led, topic, wanted).await {
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

async fn find(
    led: &LedPartitions<'_>,
    topic: &str,
    wanted: &RequestPartition,
) -> Result<Option<(LeaderEpoch, Offset)>, Refusal> {
    let partition = led.find(topic, wanted.partition, Operation::Describe).await?;
    let look = || {
        partition.check_epoch(LeaderEpoch(wanted.current_leader_epoch))?;
        partition.epoch_end(LeaderEpoch(wanted.leader_epoch))
    };
    look().map_err(|error: PartitionError| Refusal::from(&error))
}
