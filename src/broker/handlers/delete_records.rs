//! `DeleteRecords`: partitions begin later than they did.

use std::sync::Arc;

use crate::broker::authorize::Operation;
use crate::broker::dispatch::Call;
use crate::broker::errors::Refusal;
use crate::broker::topics::{name_of, stopping};
use crate::types::Offset;
use crate::wire::ErrorCode;
use crate::wire::delete_records::{
    DeleteRecordsRequest, DeleteRecordsResponse, Partition, RequestPartition, Topic,
};

pub(crate) type Request = DeleteRecordsRequest;

/// In place of an offset: everything that consumers may see.
const HIGH_WATERMARK: i64 = -1;

/// Cuts the partitions one after another; each succeeds or fails by itself.
pub(crate) async fn handle(call: &Call<'_>, request: Request) -> DeleteRecordsResponse {
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for wanted in &topic.partitions {
            let cut = delete(call, &topic.name, wanted).await;
            partitions.push(Partition {
                partition_index: wanted.partition_index,
                low_watermark: cut.as_ref().map_or(-1, |start| start.get()),
                error_code: cut.map_or_else(|refusal| refusal.code, |_| ErrorCode::None),
            });
        }
        topics.push(Topic { name: topic.name, partitions });
    }
    DeleteRecordsResponse { topics, ..DeleteRecordsResponse::default() }
}

async fn delete(
    call: &Call<'_>,
    topic: &str,
    wanted: &RequestPartition,
) -> Result<Offset, Refusal> {
    name_of(topic)?;
    let partition = call.partition(topic, wanted.partition_index, Operation::Delete).await?;
    let policy = partition.config().cleanup_policy;
    if policy.compact && !policy.delete {
        // The latest value of a key stays until a record replaces it.
        return Err(Refusal::of(ErrorCode::PolicyViolation));
    }
    let first = Some(wanted.offset).filter(|offset| *offset != HIGH_WATERMARK);
    let cut = Arc::clone(&partition);
    let start = call.shared.control.run_blocking(move || cut.delete_records(first));
    let start = start.await.map_err(stopping)?.map_err(|error| Refusal::from(&error))?;
    tracing::info!("{} begins at offset {start}: records were deleted", partition.id());
    Ok(start)
}
