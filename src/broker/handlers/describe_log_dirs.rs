//! `DescribeLogDirs`: the contents and size of the data directory, and the free space of its disk.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::{self, Path};
use std::sync::Arc;

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::context::Shared;
use crate::broker::errors::Refusal;
use crate::storage::{self, StorageError};
use crate::types::{Offset, TopicName, TopicPartition};
use crate::wire::ErrorCode;
use crate::wire::describe_log_dirs::{
    DamagedStretch, DescribeLogDirsRequest, DescribeLogDirsResponse, Gap, LogDir, Partition,
    RequestTopic, Topic,
};

pub(crate) type Request = DescribeLogDirsRequest;

/// Describes the data directory, of which there is one.
pub(crate) async fn handle(call: &Call<'_>, request: Request) -> DescribeLogDirsResponse {
    if !call.session.may(Operation::Describe, Resource::Cluster) {
        return DescribeLogDirsResponse {
            error_code: ErrorCode::ClusterAuthorizationFailed,
            ..DescribeLogDirsResponse::default()
        };
    }
    let wanted = wanted(call.shared, request.topics.as_deref());
    let (shared, with_damage) = (Arc::clone(call.shared), request.with_damage);
    let described = move || describe(&shared, wanted, with_damage);
    let described = call.shared.engine.control.run_blocking(described).await;
    let dir = match described
        .map_err(Refusal::from)
        .and_then(|dir| dir.map_err(|e| Refusal::from(&e)))
    {
        Ok(dir) => dir,
        Err(refusal) => {
            LogDir { error_code: refusal.code, log_dir: absolute(call.shared), ..LogDir::default() }
        }
    };
    DescribeLogDirsResponse { results: vec![dir], ..DescribeLogDirsResponse::default() }
}

/// The requested replicas on this broker.
fn wanted<'a>(shared: &Shared, topics: Option<&'a [RequestTopic]>) -> Vec<TopicPartition> {
    let image = shared.engine.image();
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
    image.partitions_of(shared.config.engine.broker_id).filter(is_asked).collect()
}

/// Blocks on the disk. A log that cannot be opened is left out; requests that use it get the error.
fn describe(
    shared: &Shared,
    wanted: Vec<TopicPartition>,
    with_damage: bool,
) -> Result<LogDir, StorageError> {
    let data = &shared.engine.logs.data;
    let mut topics: BTreeMap<TopicName, Vec<Partition>> = BTreeMap::new();
    for replica in wanted {
        // A partition that was never written to has no log yet.
        let measured = data.log(&replica).and_then(|log| {
            let Some(log) = log else { return Ok((0, Vec::new(), Vec::new())) };
            let size = log.size_bytes()?;
            if !with_damage {
                return Ok((size, Vec::new(), Vec::new()));
            }
            Ok((size, log.damaged_stretches()?, log.gaps()?))
        });
        let Ok((size, damaged, gaps)) = measured else { continue };
        topics.entry(replica.topic).or_default().push(Partition {
            partition_index: replica.partition.0,
            partition_size: i64::try_from(size).unwrap_or(i64::MAX),
            damaged: damaged.into_iter().map(damaged_stretch).collect(),
            gaps: gaps.into_iter().map(gap).collect(),
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

fn gap(offsets: Range<Offset>) -> Gap {
    Gap { first_offset: offsets.start.get(), next_offset: offsets.end.get() }
}

fn damaged_stretch(stretch: storage::DamagedStretch) -> DamagedStretch {
    let storage::DamagedStretch { damage, path, is_skipped } = stretch;
    let position = |position| i64::try_from(position).unwrap_or(i64::MAX);
    DamagedStretch {
        first_offset: damage.first.get(),
        next_offset: damage.next.get(),
        file: shown(&path),
        start_position: position(damage.start),
        end_position: position(damage.end),
        is_skipped,
    }
}

fn absolute(shared: &Shared) -> String {
    shown(shared.engine.logs.data.path())
}

/// An absolute path, which does not depend on the reader's working directory.
pub(super) fn shown(path: &Path) -> String {
    path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}
