//! `DescribeProducers`: the state that partitions keep of idempotent producers.

use std::sync::Arc;

use crate::broker::access::LedPartitions;
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
    let mut queries = Vec::new();
    for topic in &request.topics {
        for index in &topic.partition_indexes {
            queries.push(opened(led, &topic.name, *index).await);
        }
    }
    let mut results = led.query(queries, producers).await.into_iter();
    let answers = |topic: RequestTopic| {
        let indexes = topic.partition_indexes.into_iter();
        let answers = indexes.zip(results.by_ref()).map(|(index, found)| answer(index, found));
        Topic { partitions: answers.collect(), name: topic.name }
    };
    let topics = request.topics.into_iter().map(answers).collect();
    DescribeProducersResponse { topics, ..DescribeProducersResponse::default() }
}

async fn opened(
    led: &LedPartitions<'_>,
    topic: &str,
    index: i32,
) -> Result<(Arc<Partition>, ()), Refusal> {
    let partition = led.find(topic, index, Operation::Read).await?;
    if !partition.is_open() {
        return Err(Refusal::of(ErrorCode::KafkaStorageError));
    }
    Ok((partition, ()))
}

fn producers(partition: &Partition, (): ()) -> Result<Vec<ActiveProducer>, PartitionError> {
    // A partition that was never written to has no log.
    Ok(partition.log().map_or_else(|| Ok(Vec::new()), |log| log.active_producers())?)
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
