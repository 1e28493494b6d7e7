//! `OffsetForLeaderEpoch`: the end offset of a leader epoch, by which a reader detects that its log
//! has diverged.

use std::collections::BTreeMap;

use crate::broker::access::{LedPartitions, OfTopic, Query};
use crate::broker::authorize::Operation;
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::metadata;
use crate::replication::{Partition, PartitionError};
use crate::types::{LeaderEpoch, Offset, PartitionIndex};
use crate::wire::offset_for_leader_epoch::{
    Loss, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, Partition as PartitionAnswer,
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
    let losses = Losses::asked_for(led, &request.topics);
    let mut queries = Vec::with_capacity(request.topics.len());
    for RequestTopic { topic: name, partitions: wanted } in request.topics {
        let mut partitions = Vec::with_capacity(wanted.len());
        for wanted in &wanted {
            partitions.push((wanted.partition, query(led, &name, wanted).await));
        }
        queries.push(OfTopic { name, partitions });
    }
    let topic = |answered: OfTopic<_>| {
        let (topic, mut partitions) = answered.rows(answer);
        losses.add(&topic, &mut partitions);
        Topic { topic, partitions }
    };
    let topics = led.query(queries, find).await.into_iter().map(topic).collect();
    OffsetForLeaderEpochResponse { topics, ..OffsetForLeaderEpochResponse::default() }
}

/// The losses of records to report to readers whose records are of an earlier leader epoch.
struct Losses(BTreeMap<(String, i32), Loss>);

impl Losses {
    fn asked_for(led: &LedPartitions<'_>, topics: &[RequestTopic]) -> Self {
        let image = led.image();
        let of_topic = |RequestTopic { topic, partitions }: &RequestTopic| {
            let known = topic.parse().ok().and_then(|name| image.topic(&name));
            let lost = partitions.iter().filter_map(|row| {
                let known = known?.partition(PartitionIndex(row.partition))?;
                let lost = known.state.as_ref()?.loss?;
                let is_concerned = row.leader_epoch < lost.leader_epoch.0;
                is_concerned.then(|| ((topic.clone(), row.partition), told(lost)))
            });
            lost.collect::<Vec<_>>()
        };
        Self(topics.iter().flat_map(of_topic).collect())
    }

    /// Adds the losses to the results of a topic, except to errors.
    fn add(&self, topic: &str, results: &mut [PartitionAnswer]) {
        if self.0.is_empty() {
            return;
        }
        for row in results.iter_mut().filter(|row| !row.error_code.is_error()) {
            let lost = self.0.get(&(topic.to_owned(), row.partition));
            row.loss = lost.cloned().unwrap_or_default();
        }
    }
}

fn told(metadata::Loss { generation, leader_epoch, from }: metadata::Loss) -> Loss {
    Loss { generation, leader_epoch: leader_epoch.0, from_offset: from.get() }
}

/// The query for a partition, if the client may make it. Opens the log of the partition.
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
    // Check after reading the log, which may have waited for the disk while the lease ran out.
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
        // The epoch is unknown: the epoch and the end offset of the response stay −1.
        Ok(None) => {}
        Err(refusal) => answer.error_code = refusal.code,
    }
    answer
}
