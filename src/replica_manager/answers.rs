//! Conversion of a leader's answers, partition by partition, to the answers that `replication`
//! takes.
//!
//! Records that leave a gap are refused at first, since damage may have caused the gap. The leader
//! is then asked for the known gaps of its log. Compaction leaves gaps, which stay when a topic is
//! no longer compacted, and so do damaged stretches that an operator has skipped.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use crate::replication::{FetchAnswer, FetchOutcome, FetchPosition};
use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicPartition};
use crate::wire::describe_log_dirs::{
    DescribeLogDirsRequest, DescribeLogDirsResponse, Gap, RequestTopic,
};
use crate::wire::fetch::Partition as PartitionAnswer;
use crate::wire::{ErrorCode, Records};

/// The reason why an answer for a partition cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// The leader knows the partition in another state: one of both brokers has yet to see a change
    /// of the metadata.
    #[error("the leader answers {0}; one of both brokers has outdated metadata")]
    OutdatedMetadata(ErrorCode),
    /// The leader cannot serve the partition.
    #[error("the leader answers {0}; its log says why")]
    Failed(ErrorCode),
    /// The answer contradicts itself.
    #[error("the leader's answer has {field} {value}")]
    Malformed {
        /// The field.
        field: &'static str,
        /// Its value.
        value: i64,
    },
}

/// Reads the answer for a partition that was fetched from `position`.
///
/// # Errors
/// If the answer cannot be applied.
pub(super) fn read_answer(
    answer: PartitionAnswer,
    position: FetchPosition,
) -> Result<(FetchAnswer, Bytes), Refusal> {
    let outcome = match answer.error_code {
        ErrorCode::None if answer.diverging_epoch.end_offset >= 0 => FetchOutcome::Diverging {
            epoch: LeaderEpoch(answer.diverging_epoch.epoch),
            end: offset("the end of an epoch at", answer.diverging_epoch.end_offset)?,
        },
        ErrorCode::None => FetchOutcome::Records,
        ErrorCode::OffsetOutOfRange => FetchOutcome::OutOfRange,
        code if is_outdated(code) => return Err(Refusal::OutdatedMetadata(code)),
        code => return Err(Refusal::Failed(code)),
    };
    let records = match answer.records {
        Records::Bytes(records) => records,
        Records::Null | Records::Elsewhere(_) => Bytes::new(),
    };
    let high_watermark = offset("the high watermark", answer.high_watermark)?;
    let log_start = offset("the log start offset", answer.log_start_offset)?;
    Ok((FetchAnswer { position, outcome, high_watermark, log_start }, records))
}

/// The question to a leader for the gaps in the logs of these partitions.
pub(super) fn ask_for_gaps<'a>(
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
) -> DescribeLogDirsRequest {
    let mut topics: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for TopicPartition { topic, partition } in partitions {
        topics.entry(topic.to_string()).or_default().push(partition.0);
    }
    let topics = topics.into_iter().map(|(topic, partitions)| RequestTopic { topic, partitions });
    let topics = Some(topics.collect());
    DescribeLogDirsRequest { topics, with_damage: true, ..DescribeLogDirsRequest::default() }
}

/// The partitions whose logs have gaps on the leader, each with the offset below which all its gaps
/// are.
pub(super) fn gaps_in(answer: &DescribeLogDirsResponse) -> BTreeMap<TopicPartition, Offset> {
    let mut gaps = BTreeMap::new();
    for topic in answer.results.iter().flat_map(|dir| &dir.topics) {
        let Ok(name) = topic.name.parse() else { continue };
        for partition in &topic.partitions {
            let ends = partition.gaps.iter().map(|gap| gap.next_offset);
            let Some(below) = ends.max().and_then(Offset::checked) else { continue };
            let partition = PartitionIndex(partition.partition_index);
            gaps.insert(TopicPartition { topic: Clone::clone(&name), partition }, below);
        }
    }
    gaps
}

/// The gaps of a leader's log, in an answer for one partition.
pub(super) fn declared_gaps(answer: &DescribeLogDirsResponse) -> Vec<Range<Offset>> {
    let topics = answer.results.iter().flat_map(|dir| &dir.topics);
    let gaps = topics.flat_map(|topic| &topic.partitions).flat_map(|partition| &partition.gaps);
    let range =
        |gap: &Gap| Some(Offset::checked(gap.first_offset)?..Offset::checked(gap.next_offset)?);
    gaps.filter_map(range).collect()
}

/// The size of a leader's log, in an answer for one partition.
pub(super) fn declared_size(answer: &DescribeLogDirsResponse) -> u64 {
    let topics = answer.results.iter().flat_map(|dir| &dir.topics);
    let sizes = topics.flat_map(|topic| &topic.partitions).map(|row| row.partition_size);
    sizes.filter_map(|size| u64::try_from(size).ok()).sum()
}

/// Returns true for errors that end by themselves when both brokers have seen the same metadata.
fn is_outdated(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::NotLeaderOrFollower
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::UnknownLeaderEpoch
            | ErrorCode::UnknownTopicId
            | ErrorCode::UnknownTopicOrPartition
            | ErrorCode::InconsistentTopicId
    )
}

fn offset(field: &'static str, value: i64) -> Result<Offset, Refusal> {
    Offset::checked(value).ok_or(Refusal::Malformed { field, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replication::Floor;
    use crate::wire::describe_log_dirs::{LogDir, Partition, Topic};
    use crate::wire::fetch::EpochEndOffset;

    const POSITION: FetchPosition = FetchPosition {
        epoch: LeaderEpoch(3),
        offset: Offset::new(7),
        last_epoch: LeaderEpoch(2),
        flushed: Offset::new(6),
        floor: Floor { offset: Offset::ZERO, is_kept: false },
    };

    fn answer(error_code: ErrorCode) -> PartitionAnswer {
        let (high_watermark, log_start_offset) = (5, 1);
        PartitionAnswer { error_code, high_watermark, log_start_offset, ..Default::default() }
    }

    fn outcome(answer: PartitionAnswer) -> FetchOutcome {
        read_answer(answer, POSITION).unwrap().0.outcome
    }

    #[test]
    fn records_come_with_the_offsets_of_the_leader() {
        let records = Records::Bytes(Bytes::from_static(b"batch"));
        let fetched = PartitionAnswer { records, ..answer(ErrorCode::None) };
        let (answer, records) = read_answer(fetched, POSITION).unwrap();
        assert_eq!((answer.position, answer.outcome), (POSITION, FetchOutcome::Records));
        assert_eq!((answer.high_watermark, answer.log_start), (Offset::new(5), Offset::new(1)));
        assert_eq!(records, &b"batch"[..]);
    }

    #[test]
    fn another_history_and_a_lost_beginning_are_outcomes() {
        let diverging_epoch = EpochEndOffset { epoch: 1, end_offset: 4 };
        let diverging = PartitionAnswer { diverging_epoch, ..answer(ErrorCode::None) };
        let expected = FetchOutcome::Diverging { epoch: LeaderEpoch(1), end: Offset::new(4) };
        assert_eq!(outcome(diverging), expected);
        assert_eq!(outcome(answer(ErrorCode::OffsetOutOfRange)), FetchOutcome::OutOfRange);
    }

    #[test]
    fn a_history_without_a_common_epoch_diverges_too() {
        let diverging_epoch = EpochEndOffset { epoch: -1, end_offset: 0 };
        let diverging = PartitionAnswer { diverging_epoch, ..answer(ErrorCode::None) };
        let expected = FetchOutcome::Diverging { epoch: LeaderEpoch::NONE, end: Offset::ZERO };
        assert_eq!(outcome(diverging), expected);
    }

    #[test]
    fn errors_are_told_apart_by_their_remedy() {
        let refused = |code| read_answer(answer(code), POSITION).unwrap_err();
        let fenced = ErrorCode::FencedLeaderEpoch;
        assert_eq!(refused(fenced), Refusal::OutdatedMetadata(fenced));
        let corrupt = ErrorCode::CorruptMessage;
        assert_eq!(refused(corrupt), Refusal::Failed(corrupt));
        let without = PartitionAnswer { log_start_offset: -1, ..answer(ErrorCode::None) };
        let (field, value) = ("the log start offset", -1);
        assert_eq!(read_answer(without, POSITION), Err(Refusal::Malformed { field, value }));
    }
    #[test]
    fn a_leader_is_asked_for_its_gaps_topic_by_topic_and_the_last_one_counts() {
        let named = |name: &str, number| TopicPartition {
            topic: name.parse().unwrap(),
            partition: PartitionIndex(number),
        };
        let asked = [named("a", 0), named("a", 2), named("b", 1)];
        let request = ask_for_gaps(&asked);
        let topics = request.topics.unwrap();
        let topics: Vec<_> = topics
            .iter()
            .map(|topic| (topic.topic.as_str(), topic.partitions.as_slice()))
            .collect();
        assert_eq!(topics, [("a", &[0, 2][..]), ("b", &[1])]);
        assert!(request.with_damage);

        let gap = |first_offset, next_offset| Gap { first_offset, next_offset };
        let partition =
            |partition_index, gaps| Partition { partition_index, gaps, ..Partition::default() };
        let partitions = vec![partition(0, vec![gap(0, 70), gap(75, 80)]), partition(2, vec![])];
        let topics = vec![Topic { name: "a".to_owned(), partitions }];
        let results = vec![LogDir { topics, ..LogDir::default() }];
        let answer = DescribeLogDirsResponse { results, ..DescribeLogDirsResponse::default() };
        assert_eq!(gaps_in(&answer), BTreeMap::from([(named("a", 0), Offset::new(80))]));
    }
}
