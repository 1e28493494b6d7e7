//! `DescribeLogDirs`: what the data directory holds, how large it is, and what its disk has left.

use std::collections::{BTreeMap, HashSet};
use std::path;
use std::sync::Arc;

use crate::broker::authorize::{Operation, Resource};
use crate::broker::context::Shared;
use crate::broker::dispatch::Call;
use crate::broker::errors::Refusal;
use crate::broker::topics::stopping;
use crate::storage::StorageError;
use crate::types::{TopicName, TopicPartition};
use crate::wire::ErrorCode;
use crate::wire::describe_log_dirs::{
    DescribeLogDirsRequest, DescribeLogDirsResponse, LogDir, Partition, RequestTopic, Topic,
};

pub(crate) type Request = DescribeLogDirsRequest;

/// Describes the data directory; there is one.
pub(crate) async fn handle(call: &Call<'_>, request: Request) -> DescribeLogDirsResponse {
    if !call.session.may(Operation::Describe, Resource::Cluster) {
        return DescribeLogDirsResponse {
            error_code: ErrorCode::ClusterAuthorizationFailed,
            ..DescribeLogDirsResponse::default()
        };
    }
    let wanted = wanted(call.shared, request.topics.as_deref());
    let shared = Arc::clone(call.shared);
    let described = call.shared.control.run_blocking(move || describe(&shared, wanted)).await;
    let dir = match described.map_err(stopping).and_then(|dir| dir.map_err(|e| Refusal::from(&e))) {
        Ok(dir) => dir,
        Err(refusal) => {
            LogDir { error_code: refusal.code, log_dir: absolute(call.shared), ..LogDir::default() }
        }
    };
    DescribeLogDirsResponse { results: vec![dir], ..DescribeLogDirsResponse::default() }
}

/// The replicas on this broker that are asked for.
fn wanted<'a>(shared: &Shared, topics: Option<&'a [RequestTopic]>) -> Vec<TopicPartition> {
    let image = shared.image();
    let asked = topics.map(|topics| {
        let named = |topic: &'a RequestTopic| {
            topic.partitions.iter().map(|index| (topic.topic.as_str(), *index))
        };
        topics.iter().flat_map(named).collect::<HashSet<_>>()
    });
    let is_asked = |replica: &TopicPartition| {
        let name = (replica.topic.as_str(), replica.partition.0);
        asked.as_ref().is_none_or(|asked| asked.contains(&name))
    };
    image.partitions_of(shared.config.broker_id).filter(is_asked).collect()
}

/// Waits for the disk. A log that cannot be opened has no size; whoever uses it is told why.
fn describe(shared: &Shared, wanted: Vec<TopicPartition>) -> Result<LogDir, StorageError> {
    let data = &shared.logs.data;
    let mut topics: BTreeMap<TopicName, Vec<Partition>> = BTreeMap::new();
    for replica in wanted {
        // A partition that was never written has no log yet.
        let size = data.log(&replica).and_then(|log| log.map_or(Ok(0), |log| log.size_bytes()));
        let Ok(size) = size else { continue };
        topics.entry(replica.topic).or_default().push(Partition {
            partition_index: replica.partition.0,
            partition_size: i64::try_from(size).unwrap_or(i64::MAX),
            ..Partition::default()
        });
    }
    let space = data.space()?;
    let topic = |(name, partitions): (TopicName, _)| Topic { name: name.to_string(), partitions };
    Ok(LogDir {
        log_dir: absolute(shared),
        topics: topics.into_iter().map(topic).collect(),
        total_bytes: i64::try_from(space.total).unwrap_or(i64::MAX),
        usable_bytes: i64::try_from(space.free).unwrap_or(i64::MAX),
        ..LogDir::default()
    })
}

fn absolute(shared: &Shared) -> String {
    let path = shared.logs.data.path();
    path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}
