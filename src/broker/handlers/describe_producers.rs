//! `DescribeProducers`: the state that partitions keep of idempotent producers.

use crate::broker::access::LedPartitions;
use crate::broker::authorize::Operation;
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::storage::ActiveProducer;
use crate::wire::ErrorCode;
use crate::wire::describe_producers::{
    DescribeProducersRequest, DescribeProducersResponse, Partition, Producer, Topic,
};

pub(crate) type Request = DescribeProducersRequest;

/// The coordinator epoch without transactions.
const NO_COORDINATOR: i32 = -1;

/// Describes every partition independently.
pub(crate) async fn handle(
    _: &Call<'_>,
    led: &LedPartitions<'_>,
    request: Request,
) -> DescribeProducersResponse {
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partition_indexes.len());
        for index in topic.partition_indexes {
            partitions.push(match producers(led, &topic.name, index).await {
                Ok(active) => Partition {
                    partition_index: index,
                    active_producers: active.into_iter().map(producer).collect(),
                    ..Partition::default()
                },
                Err(refusal) => Partition {
                    partition_index: index,
                    error_code: refusal.code,
                    error_message: refusal.message,
                    ..Partition::default()
                },
            });
        }
        topics.push(Topic { name: topic.name, partitions });
    }
    DescribeProducersResponse { topics, ..DescribeProducersResponse::default() }
}

async fn producers(
    led: &LedPartitions<'_>,
    topic: &str,
    index: i32,
) -> Result<Vec<ActiveProducer>, Refusal> {
    let partition = led.find(topic, index, Operation::Read).await?;
    if !partition.is_open() {
        return Err(Refusal::of(ErrorCode::KafkaStorageError));
    }
    // A partition that was never written to has no log.
    Ok(partition.log().map(|log| log.active_producers()).unwrap_or_default())
}

fn producer(active: ActiveProducer) -> Producer {
    Producer {
        producer_id: active.producer_id.0,
        producer_epoch: active.epoch.0.into(),
        last_sequence: active.last_sequence,
        last_timestamp: active.last_timestamp.millis(),
        coordinator_epoch: NO_COORDINATOR,
        ..Producer::default()
    }
}
