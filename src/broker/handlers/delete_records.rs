//! `DeleteRecords`: advances the log start offset of partitions.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::broker::access::LedPartitions;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::Groups;
use crate::broker::errors::Refusal;
use crate::broker::handlers::describe_log_dirs::shown;
use crate::broker::topics::{name_of, wait_limit};
use crate::replication::{Deletion, Partition as Replica, PartitionError};
use crate::storage;
use crate::types::Offset;
use crate::wire::ErrorCode;
use crate::wire::delete_records::{
    DeleteRecordsRequest, DeleteRecordsResponse, OffsetRange, Partition, RequestPartition,
    SkippedStretch, Topic,
};

pub(crate) type Request = DeleteRecordsRequest;

/// The value that stands for the high watermark.
const HIGH_WATERMARK: i64 = -1;

/// Deletes records of the partitions; each succeeds or fails independently.
pub(crate) async fn handle(
    _: &Call<'_>,
    led: &LedPartitions<'_>,
    groups: &Groups<'_>,
    request: Request,
) -> DeleteRecordsResponse {
    let mut deletions = Vec::new();
    for topic in &request.topics {
        for wanted in topic.partitions.iter().filter(|wanted| !skips_damage(wanted)) {
            deletions.push(deletion(led, &topic.name, wanted).await);
        }
    }
    let within = wait_limit(request.timeout_ms);
    let mut starts = delete(led, deletions, within).await.into_iter();
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for wanted in &topic.partitions {
            partitions.push(if skips_damage(wanted) {
                skip_damage(led, groups, &topic.name, wanted).await
            } else {
                answer(wanted.partition_index, next(&mut starts))
            });
        }
        topics.push(Topic { name: topic.name, partitions });
    }
    DeleteRecordsResponse { topics, ..DeleteRecordsResponse::default() }
}

fn skips_damage(wanted: &RequestPartition) -> bool {
    wanted.skip_damage != OffsetRange::default()
}

/// The deletion of records from a partition, if the client may delete them.
async fn deletion(
    led: &LedPartitions<'_>,
    topic: &str,
    wanted: &RequestPartition,
) -> Result<Deletion, Refusal> {
    name_of(topic)?;
    let partition = led.find(topic, wanted.partition_index, Operation::Delete).await?;
    let policy = partition.config().cleanup_policy;
    if policy.compact && !policy.delete {
        // Compaction keeps the latest value of a key until another record replaces it.
        return Err(Refusal::of(ErrorCode::PolicyViolation));
    }
    let before = Some(wanted.offset).filter(|offset| *offset != HIGH_WATERMARK);
    Ok(Deletion { partition, before })
}

/// Deletes the records of all partitions together, and waits until their live followers have
/// deleted them too. Returns the new log start offsets or the refusals, in order.
async fn delete(
    led: &LedPartitions<'_>,
    deletions: Vec<Result<Deletion, Refusal>>,
    within: Duration,
) -> Vec<Result<Offset, Refusal>> {
    let permitted = deletions.iter().flatten().cloned().collect();
    let mut starts = led.delete_records(permitted).await.into_iter();
    let start = |deletion: Result<Deletion, Refusal>| -> Result<_, Refusal> {
        let Deletion { partition, .. } = deletion?;
        let start = next(&mut starts)?;
        tracing::info!("{} begins at offset {start}: records were deleted", partition.id());
        Ok((partition, start))
    };
    let deleted: Vec<_> = deletions.into_iter().map(start).collect();
    let deadline = Instant::now() + within;
    let mut everywhere = Vec::with_capacity(deleted.len());
    for deleted in deleted {
        everywhere.push(match deleted {
            Ok((partition, start)) => by_followers(led, &partition, start, deadline).await,
            Err(refusal) => Err(refusal),
        });
    }
    everywhere
}

/// The new log start offset of a partition, once its live followers have it too.
async fn by_followers(
    led: &LedPartitions<'_>,
    partition: &Arc<Replica>,
    start: Offset,
    deadline: Instant,
) -> Result<Offset, Refusal> {
    let removed = timeout_at(deadline, led.removed_by_followers(partition, start)).await;
    let late = |_| {
        let cause = "the records are deleted on the leader, but not yet on every live replica";
        Refusal::because(ErrorCode::RequestTimedOut, &cause)
    };
    removed.map_err(late)??;
    Ok(start)
}

/// The next result; there are as many results as deletions.
fn next<T>(results: &mut impl Iterator<Item = T>) -> T {
    results.next().unwrap_or_else(|| unreachable!("a deletion has no result"))
}

fn answer(partition_index: i32, start: Result<Offset, Refusal>) -> Partition {
    Partition {
        partition_index,
        low_watermark: start.as_ref().map_or(-1, |start| start.get()),
        error_code: start.map_or_else(|refusal| refusal.code, |_| ErrorCode::None),
        ..Partition::default()
    }
}

/// Skips damage on an operator's request, also in internal topics. It requires permission to delete
/// the records and, since every reader loses them, to alter the cluster.
async fn skip_damage(
    led: &LedPartitions<'_>,
    groups: &Groups<'_>,
    topic: &str,
    wanted: &RequestPartition,
) -> Partition {
    let partition_index = wanted.partition_index;
    match skip(led, groups, topic, wanted).await {
        Ok((start, skipped)) => Partition {
            partition_index,
            low_watermark: start.get(),
            skipped: skipped.into_iter().map(skipped_stretch).collect(),
            ..Partition::default()
        },
        Err(refusal) => Partition {
            partition_index,
            low_watermark: -1,
            error_code: refusal.code,
            error_message: refusal.message,
            ..Partition::default()
        },
    }
}

async fn skip(
    led: &LedPartitions<'_>,
    groups: &Groups<'_>,
    topic: &str,
    wanted: &RequestPartition,
) -> Result<(Offset, Vec<storage::SkippedStretch>), Refusal> {
    if !led.session().may(Operation::Alter, Resource::Cluster) {
        return Err(Refusal::of(ErrorCode::ClusterAuthorizationFailed));
    }
    let partition = led.find(topic, wanted.partition_index, Operation::Delete).await?;
    let OffsetRange { first_offset, next_offset } = wanted.skip_damage;
    let bounds = Offset::checked(first_offset).zip(Offset::checked(next_offset));
    let (first, next) = bounds.ok_or_else(|| {
        let words = format!("offsets {first_offset} to {next_offset}: neither may be negative");
        Refusal::because(ErrorCode::InvalidRequest, &words)
    })?;
    let by = led.session().identity().to_string();
    let (skipping, others) = (Arc::clone(&partition), led.intact_copies(&partition));
    let skipped = led.change(move || {
        let skipped = skipping.skip_damage(first..next, &by, others)?;
        let all = skipping.damaged_stretches()?.iter().all(|stretch| stretch.is_skipped);
        Ok::<_, PartitionError>((skipped, all))
    });
    let skipped = skipped.await?.map_err(|error| Refusal::from(&error))?;
    let (skipped, is_all) = skipped;
    if is_all {
        groups.damage_skipped(&partition).await;
    }
    Ok((partition.log_start_offset(), skipped))
}

fn skipped_stretch(stretch: storage::SkippedStretch) -> SkippedStretch {
    let storage::SkippedStretch { damage, copy, unreadable } = stretch;
    let count = |bytes| i64::try_from(bytes).unwrap_or(i64::MAX);
    SkippedStretch {
        first_offset: damage.first.get(),
        next_offset: damage.next.get(),
        copy: copy.as_deref().map(shown).unwrap_or_default(),
        bytes: count(damage.end - damage.start),
        unreadable_bytes: count(unreadable),
    }
}
