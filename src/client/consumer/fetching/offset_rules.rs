//! The rules of a partition's offsets, as its broker reports them: deviations from the expected
//! order of batches that are no sign of damage. They are requested only after a deviation was seen,
//! so that regular responses cost nothing.
//!
//! Brokers other than streamlog's report no rules, so any order is accepted from them. Their
//! compaction and transactions leave gaps, records may be newer than the high watermark of the same
//! response, and an unclean election may replace a batch.

use std::ops::Range;

use crate::client::ClientError;
use crate::client::OrderFault;
use crate::client::cluster::{Brokers, Role};
use crate::client::consumer::fetch_buffer::ExpectedStart;
use crate::config::HostPort;
use crate::types::{Offset, TopicPartition};
use crate::wire::describe_configs::{RESOURCE_TOPIC, RequestResource};
use crate::wire::describe_log_dirs::{Gap, RequestTopic};
use crate::wire::{DescribeConfigsRequest, DescribeLogDirsRequest, ErrorCode};

/// The rules for the offsets of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OffsetRules {
    /// No rules that a client could rely on.
    Unknown,
    /// Batches follow one another below the high watermark.
    Ordered {
        /// Offsets that may be missing, sorted by start.
        gaps: Vec<Range<Offset>>,
        /// True if offsets count bytes: a batch then spans more offsets than it has records, and
        /// the offsets after its records belong to no record.
        counts_bytes: bool,
    },
}

const EVERYWHERE: Range<Offset> = Offset::ZERO..Offset::new(i64::MAX);

impl OffsetRules {
    /// Requests the rules of a partition from the brokers.
    ///
    /// # Errors
    /// Connection errors.
    pub(crate) async fn ask(
        brokers: &Brokers,
        partition: &TopicPartition,
    ) -> Result<Self, ClientError> {
        let topic = &partition.topic;
        let leader = brokers.leader(topic, partition.partition).await?;
        let names = ["cleanup.policy", "offset.unit"];
        let resource = RequestResource {
            resource_type: RESOURCE_TOPIC,
            resource_name: topic.to_string(),
            configuration_keys: Some(names.map(str::to_owned).to_vec()),
        };
        let request = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
        let answer = brokers.call_in_role(&leader, Role::leader(partition), &request).await?;
        let Some(row) = answer.results.into_iter().next() else { return Ok(Self::Unknown) };
        if is_silent(row.error_code) {
            return Ok(Self::Unknown);
        }
        ClientError::check(row.error_code, &partition.to_string(), row.error_message.as_deref())?;
        let value = |name: &str| {
            let found = row.configs.iter().find(|entry| entry.name == name);
            found.and_then(|entry| entry.value.as_deref())
        };
        // Only streamlog's brokers have `offset.unit`.
        let Some(unit) = value(names[1]) else { return Ok(Self::Unknown) };
        let is_compacted = value(names[0]).is_none_or(|policy| policy.contains("compact"));
        let gaps = if is_compacted {
            vec![EVERYWHERE]
        } else {
            gaps(brokers, (&leader, partition)).await?
        };
        Ok(Self::Ordered { gaps, counts_bytes: unit == "byte" })
    }

    /// Returns true if the rules permit this fault at this position.
    pub(crate) fn allows(&self, fault: OrderFault, place: ExpectedStart) -> bool {
        match (self, fault) {
            (Self::Unknown, _) => true,
            (Self::Ordered { gaps, counts_bytes }, OrderFault::Missing { from, to }) => {
                (*counts_bytes && !place.is_boundary) || covered(gaps, from) >= to
            }
            (Self::Ordered { .. }, _) => false,
        }
    }
}

/// The end of the contiguous offsets from `from` on that may be missing.
fn covered(gaps: &[Range<Offset>], from: Offset) -> Offset {
    gaps.iter().fold(from, |end, gap| if gap.start <= end { end.max(gap.end) } else { end })
}

/// The gaps that the leader of a topic without compaction knows of: skipped damage, or compaction
/// in the past.
async fn gaps(
    brokers: &Brokers,
    (leader, partition): (&HostPort, &TopicPartition),
) -> Result<Vec<Range<Offset>>, ClientError> {
    let topic = RequestTopic {
        topic: partition.topic.to_string(),
        partitions: vec![partition.partition.0],
    };
    let request = DescribeLogDirsRequest {
        topics: Some(vec![topic]),
        with_damage: true,
        ..DescribeLogDirsRequest::default()
    };
    let answer = brokers.call_in_role(leader, Role::leader(partition), &request).await?;
    if is_silent(answer.error_code) {
        return Ok(vec![EVERYWHERE]);
    }
    ClientError::check(answer.error_code, &partition.to_string(), None)?;
    let mut gaps = Vec::new();
    for directory in answer.results {
        ClientError::check(directory.error_code, &directory.log_dir, None)?;
        let range =
            |gap: Gap| Some(Offset::checked(gap.first_offset)?..Offset::checked(gap.next_offset)?);
        let rows = directory.topics.into_iter().flat_map(|topic| topic.partitions);
        gaps.extend(rows.flat_map(|row| row.gaps).filter_map(range));
    }
    gaps.sort_by_key(|gap| gap.start);
    Ok(gaps)
}

/// Returns true if a broker does not report the rules and will not on another attempt.
fn is_silent(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::TopicAuthorizationFailed
            | ErrorCode::ClusterAuthorizationFailed
            | ErrorCode::UnsupportedVersion
    )
}
