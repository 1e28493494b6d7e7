//! `ListOffsets`: the start and end of partitions, and offsets by timestamp.

use std::collections::HashSet;

use crate::broker::access::{LedPartitions, OfTopic, Query};
use crate::broker::authorize::Operation;
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::broker::isolation::Isolation;
use crate::broker::topics::{named_twice, repeated};
use crate::replication::{Partition, PartitionError};
use crate::storage::RecordAt;
use crate::types::{LeaderEpoch, Timestamp};
use crate::wire::ErrorCode;
use crate::wire::list_offsets::{
    EARLIEST, EARLIEST_LOCAL, EARLIEST_PENDING_UPLOAD, LATEST, LATEST_TIERED, ListOffsetsRequest,
    ListOffsetsResponse, MAX_TIMESTAMP, Partition as PartitionAnswer, RequestPartition,
    RequestTopic, Topic,
};

pub(crate) type Request = ListOffsetsRequest;

/// The first version with a query for the record with the largest timestamp (KIP-734).
const MAX_TIMESTAMP_SINCE: i16 = 7;
/// The first version with a query for the earliest offset on local disks (KIP-405).
const EARLIEST_LOCAL_SINCE: i16 = 8;
/// The first version with a query for the latest offset in tiered storage, which is not supported.
const LATEST_TIERED_SINCE: i16 = 9;
/// The first version with a query for the earliest offset not yet in tiered storage.
const EARLIEST_PENDING_UPLOAD_SINCE: i16 = 11;

/// A query for an offset of one partition.
#[derive(Clone, Copy, Debug)]
struct OffsetQuery {
    /// A timestamp, or a negative number for a special query.
    timestamp: i64,
    current_leader_epoch: LeaderEpoch,
}

/// Looks up every offset.
pub(crate) async fn handle(
    call: &Call<'_>,
    led: &LedPartitions<'_>,
    request: Request,
) -> ListOffsetsResponse {
    let isolation = Isolation::of(request.isolation_level);
    let mut queries = Vec::with_capacity(request.topics.len());
    let mut reads_log = false;
    for RequestTopic { name, partitions: mut wanted } in request.topics {
        let repeated = repeated(wanted.iter().map(|wanted| wanted.partition_index));
        let mut seen = HashSet::new();
        wanted.retain(|wanted| seen.insert(wanted.partition_index));
        let mut partitions = Vec::with_capacity(wanted.len());
        for wanted in &wanted {
            let query = match isolation {
                Err(code) => Err(Refusal::of(code)),
                Ok(_) if repeated.contains(&wanted.partition_index) => Err(named_twice()),
                Ok(_) => query(led, &name, wanted, call.version).await,
            };
            reads_log |= query.as_ref().is_ok_and(|(_, query)| query.reads_log());
            partitions.push((wanted.partition_index, query));
        }
        queries.push(OfTopic { name, partitions });
    }
    let answers = if reads_log {
        led.query(queries, find).await
    } else {
        queries.into_iter().map(|topic| topic.answered_by(find)).collect()
    };
    let topic = |answered: OfTopic<_>| {
        let (name, partitions) = answered.rows(answer);
        Topic { name, partitions }
    };
    let topics = answers.into_iter().map(topic).collect();
    ListOffsetsResponse { topics, ..ListOffsetsResponse::default() }
}

/// The query for a partition, if the client may make it. Opens the log of the partition.
async fn query(
    led: &LedPartitions<'_>,
    topic: &str,
    wanted: &RequestPartition,
    version: i16,
) -> Result<Query<OffsetQuery>, Refusal> {
    let partition = led.find(topic, wanted.partition_index, Operation::Describe).await?;
    if !is_known(wanted.timestamp, version) {
        return Err(Refusal::of(ErrorCode::UnsupportedVersion));
    }
    let current_leader_epoch = LeaderEpoch(wanted.current_leader_epoch);
    Ok((partition, OffsetQuery { timestamp: wanted.timestamp, current_leader_epoch }))
}

impl OffsetQuery {
    /// Returns true if the answer is not in memory.
    fn reads_log(&self) -> bool {
        self.timestamp >= 0 || self.timestamp == MAX_TIMESTAMP
    }
}

fn find(partition: &Partition, query: OffsetQuery) -> Result<Option<RecordAt>, PartitionError> {
    partition.check_epoch(query.current_leader_epoch)?;
    let found = match query.timestamp {
        LATEST => Some(partition.latest()?),
        EARLIEST | EARLIEST_LOCAL => Some(partition.earliest()),
        MAX_TIMESTAMP => partition.latest_by_time()?,
        LATEST_TIERED | EARLIEST_PENDING_UPLOAD => None,
        time => partition.first_at(Timestamp::from_millis(time))?,
    };
    // Check after the search, which may have waited for the disk while the lease ran out.
    partition.check_may_answer()?;
    Ok(found)
}

fn answer(partition_index: i32, found: Result<Option<RecordAt>, Refusal>) -> PartitionAnswer {
    let mut answer = PartitionAnswer { partition_index, ..PartitionAnswer::default() };
    match found {
        Ok(Some(found)) => {
            answer.timestamp = found.timestamp.millis();
            answer.offset = found.offset.get();
            answer.leader_epoch = found.epoch.0;
        }
        // The offset stays −1: no record matches, or the query is about tiered storage.
        Ok(None) => {}
        Err(refusal) => answer.error_code = refusal.code,
    }
    answer
}

/// Returns true if this version defines the given timestamp; negative ones are special queries.
fn is_known(timestamp: i64, version: i16) -> bool {
    match timestamp {
        LATEST | EARLIEST => true,
        MAX_TIMESTAMP => version >= MAX_TIMESTAMP_SINCE,
        EARLIEST_LOCAL => version >= EARLIEST_LOCAL_SINCE,
        LATEST_TIERED => version >= LATEST_TIERED_SINCE,
        EARLIEST_PENDING_UPLOAD => version >= EARLIEST_PENDING_UPLOAD_SINCE,
        time => time >= 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_timestamps_are_known_from_the_version_that_defines_them() {
        for (timestamp, since) in [(LATEST, 1), (EARLIEST, 1), (MAX_TIMESTAMP, 7), (0, 1)] {
            assert!(is_known(timestamp, since), "{timestamp}");
        }
        assert!(is_known(EARLIEST_LOCAL, 8));
        assert!(is_known(LATEST_TIERED, 9) && is_known(EARLIEST_PENDING_UPLOAD, 11));
        let early = [(MAX_TIMESTAMP, 6), (EARLIEST_LOCAL, 7), (-5, 8), (-6, 10), (-99, 11)];
        for (timestamp, version) in early {
            assert!(!is_known(timestamp, version), "{timestamp}");
        }
    }
}
