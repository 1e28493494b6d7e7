//! `DescribeLogDirs`: the contents and size of the data directory, and the free space of its disk.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::{self, Path};

use crate::broker::access::{Cluster, LedPartitions};
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::storage::{self, DataDir, Log, LogDamage, StorageError};
use crate::types::{LeaderEpoch, Offset, TopicName, TopicPartition};
use crate::wire::ErrorCode;
use crate::wire::describe_log_dirs::{
    DamagedStretch, DescribeLogDirsRequest, DescribeLogDirsResponse, Gap, LogDir, LogEnd,
    Partition, RequestTopic, Topic,
};

pub(crate) type Request = DescribeLogDirsRequest;

/// Describes the only data directory of this broker.
pub(crate) async fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    led: &LedPartitions<'_>,
    request: Request,
) -> DescribeLogDirsResponse {
    if !call.session.may(Operation::Describe, Resource::Cluster) {
        return DescribeLogDirsResponse {
            error_code: ErrorCode::ClusterAuthorizationFailed,
            ..DescribeLogDirsResponse::default()
        };
    }
    let wanted = wanted(cluster, request.topics.as_deref());
    let details = Details { damage: request.with_damage, ends: request.with_ends };
    let described = led.inspect(move |data| describe(data, wanted, details)).await;
    let dir = match described.and_then(|dir| dir.map_err(|error| Refusal::from(&error))) {
        Ok(dir) => dir,
        Err(Refusal { code: error_code, .. }) => {
            LogDir { error_code, log_dir: shown(led.data_path()), ..LogDir::default() }
        }
    };
    DescribeLogDirsResponse { results: vec![dir], ..DescribeLogDirsResponse::default() }
}

/// The requested replicas on this broker.
fn wanted<'a>(cluster: &Cluster<'_>, topics: Option<&'a [RequestTopic]>) -> Vec<TopicPartition> {
    let image = cluster.image();
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
    image.partitions_of(cluster.broker_id()).filter(is_asked).collect()
}

/// The details that a request wants of each log beside its size.
#[derive(Clone, Copy)]
struct Details {
    damage: bool,
    ends: bool,
}

/// Describes the logs of replicas. Blocks on the disk. A log that cannot be opened is left out,
/// since requests that use it report the error. If the ends are requested, the error is returned.
fn describe(
    data: &DataDir,
    wanted: Vec<TopicPartition>,
    details: Details,
) -> Result<LogDir, StorageError> {
    let mut topics: BTreeMap<TopicName, Vec<Partition>> = BTreeMap::new();
    for replica in wanted {
        // A partition that was never written to has no log yet.
        let measured = data.log(&replica).and_then(|log| measured(log.as_deref(), details));
        let measured = match measured {
            Ok(measured) => measured,
            // An operator compares the ends, and must not overlook this replica.
            Err(error) if details.ends => return Err(error),
            Err(_) => continue,
        };
        let partition_index = replica.partition.0;
        topics.entry(replica.topic).or_default().push(Partition { partition_index, ..measured });
    }
    let space = data.space()?;
    let topic = |(name, partitions): (TopicName, _)| Topic { name: name.to_string(), partitions };
    Ok(LogDir {
        log_dir: shown(data.path()),
        topics: topics.into_iter().map(topic).collect(),
        total_bytes: i64::try_from(space.total).unwrap_or(i64::MAX),
        usable_bytes: i64::try_from(space.free).unwrap_or(i64::MAX),
        ..LogDir::default()
    })
}

/// The row of the response for a log, without the number of its partition.
fn measured(log: Option<&Log>, details: Details) -> Result<Partition, StorageError> {
    let mut row = Partition::default();
    if let Some(log) = log {
        row.partition_size = i64::try_from(log.size_bytes()?).unwrap_or(i64::MAX);
        if details.damage {
            let damage = LogDamage::of(log);
            row.damaged = damage.stretches()?.into_iter().map(damaged_stretch).collect();
            row.gaps = damage.gaps()?.into_iter().map(gap).collect();
        }
    }
    if details.ends {
        let epochs = log.map_or_else(|| Ok(Vec::new()), |log| log.epochs().entries())?;
        let last_epoch = epochs.last().map_or(LeaderEpoch::NONE, |last| last.epoch);
        let end = log.map_or(Offset::ZERO, Log::log_end_offset);
        row.end = LogEnd { last_epoch: last_epoch.0, end_offset: end.get() };
    }
    Ok(row)
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

/// An absolute path, which does not depend on the reader's working directory.
pub(super) fn shown(path: &Path) -> String {
    path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}
