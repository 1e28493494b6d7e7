//! `DescribeProducers`: the state that partitions keep of idempotent producers.

use crate::broker::access::{LedPartitions, OfTopic, Query};
use crate::broker::authorize::Operation;
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::replication::{Partition, PartitionError};
use crate::storage::ActiveProducer;
use crate::wire::ErrorCode;
use crate::wire::describe_producers::{
    DescribeProducersRequest, DescribeProducersResponse, Partition as PartitionAnswer, Producer,
    RequestTopic, Topic,
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
    let mut queries = Vec::with_capacity(request.topics.len());
    for RequestTopic { name, partition_indexes } in request.topics {
        let mut partitions = Vec::with_capacity(partition_indexes.len());
        for index in partition_indexes {
            partitions.push((index, opened(led, &name, index).await));
        }
        queries.push(OfTopic { name, partitions });
    }
    let topic = |answered: OfTopic<_>| {
        let (name, partitions) = answered.rows(answer);
        Topic { name, partitions }
    };
    let topics = led.query(queries, producers).await.into_iter().map(topic).collect();
    DescribeProducersResponse { topics, ..DescribeProducersResponse::default() }
}

async fn opened(led: &LedPartitions<'_>, topic: &str, index: i32) -> Result<Query<()>, Refusal> {
    let partition = led.find(topic, index, Operation::Read).await?;
    if !partition.is_open() {
        return Err(Refusal::of(ErrorCode::KafkaStorageError));
    }
    Ok((partition, ()))
}

fn producers(partition: &Partition, (): ()) -> Result<Vec<ActiveProducer>, PartitionError> {
    // A partition that was never written to has no log.
    Ok(partition.log().map_or_else(|| Ok(Vec::new()), |log| log.tail().active_producers())?)
}

fn answer(partition_index: i32, found: Result<Vec<ActiveProducer>, Refusal>) -> PartitionAnswer {
    match found {
        Ok(active) => PartitionAnswer {
            partition_index,
            active_producers: active.into_iter().map(producer).collect(),
            ..PartitionAnswer::default()
        },
        Err(refusal) => PartitionAnswer {
            partition_index,
            error_code: refusal.code,
            error_message: refusal.message,
            ..PartitionAnswer::default()
        },
    }
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
