//! Damaged ranges of partitions, and skipping them.

use std::ops::Range;

use crate::client::admin::handle::{AdminCalls, unanswered};
use crate::client::{Call, ClientError};
use crate::types::{BrokerId, Offset, PartitionIndex, TopicPartition};
use crate::wire::delete_records::{OffsetRange, RequestPartition, RequestTopic};
use crate::wire::describe_log_dirs as asked;
use crate::wire::{DeleteRecordsRequest, DescribeLogDirsRequest, ErrorCode, delete_records};

/// A damaged range of a partition's log on one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedStretch {
    /// The broker.
    pub broker: BrokerId,
    /// The partition.
    pub partition: TopicPartition,
    /// The first unreadable offset.
    pub first: Offset,
    /// The first readable offset after the damage.
    pub next: Offset,
    /// The segment file on the broker.
    pub file: String,
    /// The byte positions in that file.
    pub positions: Range<u64>,
    /// True if an operator has given the range up, so that readers skip it.
    pub is_skipped: bool,
}

/// A damaged range that readers skip from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedStretch {
    /// The first offset given up.
    pub first: Offset,
    /// The first offset after the range.
    pub next: Offset,
    /// The copy of its bytes on the broker; `None` if it has no bytes.
    pub copy: Option<String>,
    /// Size of the copy in bytes.
    pub bytes: u64,
    /// Number of bytes in the copy that the disk could not read; they are zeros in the copy.
    pub unreadable_bytes: u64,
}

impl AdminCalls {
    /// [`Admin::damage`](super::Admin::damage) as a call.
    pub fn damage(&self) -> Call<Vec<DamagedStretch>> {
        let calls = self.clone();
        self.with_brokers("listing damage", async move |brokers, deadline| {
            let request =
                DescribeLogDirsRequest { with_damage: true, ..DescribeLogDirsRequest::default() };
            let mut damage = Vec::new();
            for broker in calls.cluster().await?.brokers {
                let asking = || brokers.call_broker(broker.id, &request);
                let answer = brokers.until(deadline, &[], asking).await?;
                ClientError::check(answer.error_code, &format!("broker {}", broker.id), None)?;
                for directory in answer.results {
                    ClientError::check(directory.error_code, &directory.log_dir, None)?;
                    let topics = directory.topics.into_iter();
                    damage.extend(topics.flat_map(|topic| damaged_in(broker.id, topic)));
                }
            }
            damage.sort_by(|one: &DamagedStretch, other| {
                (&one.partition, one.first).cmp(&(&other.partition, other.first))
            });
            Ok(damage)
        })
    }

    /// [`Admin::skip_damage`](super::Admin::skip_damage) as a call.
    pub fn skip_damage(
        &self,
        partition: &TopicPartition,
        offsets: Range<Offset>,
    ) -> Call<Vec<SkippedStretch>> {
        let partition = partition.clone();
        let about = partition.to_string();
        let row = RequestPartition {
            partition_index: partition.partition.0,
            // A broker that does not know `skip_damage` deletes the records below this offset:
            // none.
            offset: 0,
            skip_damage: OffsetRange {
                first_offset: offsets.start.get(),
                next_offset: offsets.end.get(),
            },
        };
        let name = partition.topic.as_str().to_owned();
        let topic = RequestTopic { name, partitions: vec![row] };
        let request = DeleteRecordsRequest { topics: vec![topic], timeout_ms: self.timeout_ms() };
        self.with_brokers("skipping damage", async move |brokers, deadline| {
            let topics = [partition.topic.clone()];
            let leader = || brokers.leader(&partition.topic, partition.partition);
            let leader = brokers.until(deadline, &topics, leader).await?;
            // Never retried: a second attempt would find nothing left to skip.
            let answer = brokers.call(&leader, &request).await?;
            let row = answer.topics.into_iter().next();
            let row = row.and_then(|topic| topic.partitions.into_iter().next());
            let row = row.ok_or_else(|| unanswered(&about))?;
            ClientError::check(row.error_code, &about, row.error_message.as_deref())?;
            if row.skipped.is_empty() {
                let words = format!("the leader of {about} cannot skip damage; nothing was done");
                let code = ErrorCode::UnsupportedVersion;
                return Err(ClientError::from_code(code, &about, Some(&words)));
            }
            Ok(row.skipped.into_iter().map(skipped).collect())
        })
    }
}

fn damaged_in(broker: BrokerId, topic: asked::Topic) -> Vec<DamagedStretch> {
    let Ok(name) = topic.name.parse::<crate::types::TopicName>() else { return Vec::new() };
    let rows = topic.partitions.into_iter().flat_map(|row| {
        let partition = PartitionIndex(row.partition_index);
        let partition = TopicPartition { topic: name.clone(), partition };
        row.damaged.into_iter().map(move |stretch| DamagedStretch {
            broker,
            partition: partition.clone(),
            first: Offset::new(stretch.first_offset),
            next: Offset::new(stretch.next_offset),
            file: stretch.file,
            positions: count(stretch.start_position)..count(stretch.end_position),
            is_skipped: stretch.is_skipped,
        })
    });
    rows.collect()
}

fn skipped(stretch: delete_records::SkippedStretch) -> SkippedStretch {
    SkippedStretch {
        first: Offset::new(stretch.first_offset),
        next: Offset::new(stretch.next_offset),
        copy: Some(stretch.copy).filter(|path| !path.is_empty()),
        bytes: count(stretch.bytes),
        unreadable_bytes: count(stretch.unreadable_bytes),
    }
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
