//! Elections of leaders that lack acknowledged records.

use crate::client::admin::handle::{AdminCalls, unanswered};
use crate::client::{Call, ClientError};
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicPartition};
use crate::wire::describe_log_dirs::RequestTopic as AskedTopic;
use crate::wire::elect_leaders::{AcceptedLoss, RequestTopic, UNCLEAN};
use crate::wire::{DescribeLogDirsRequest, ElectLeadersRequest};

/// The end of a partition's log on a live broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaEnd {
    /// The broker.
    pub broker: BrokerId,
    /// The leader epoch of the last record; `NONE` if there is none.
    pub last_epoch: LeaderEpoch,
    /// The offset of the next record.
    pub end: Offset,
}

/// An election that gives up records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossyElection {
    /// The partition.
    pub partition: TopicPartition,
    /// The replica that is to lead; the records from its end on are given up.
    pub leader: ReplicaEnd,
    /// True if a leader that may be alive is replaced too: both may answer for a while.
    pub accepts_two_leaders: bool,
}

impl AdminCalls {
    /// [`Admin::replica_ends`](super::Admin::replica_ends) as a call.
    pub fn replica_ends(&self, partition: &TopicPartition) -> Call<Vec<ReplicaEnd>> {
        let (calls, partition) = (self.clone(), partition.clone());
        self.with_brokers("reading the ends of logs", async move |brokers, deadline| {
            let topic = AskedTopic {
                topic: partition.topic.to_string(),
                partitions: vec![partition.partition.0],
            };
            let request = DescribeLogDirsRequest {
                topics: Some(vec![topic]),
                with_ends: true,
                ..DescribeLogDirsRequest::default()
            };
            let mut ends = Vec::new();
            for broker in calls.cluster().await?.brokers {
                let asking = || brokers.call_broker(broker.id, &request);
                let answer = brokers.until(deadline, &[], asking).await?;
                ClientError::check(answer.error_code, &format!("broker {}", broker.id), None)?;
                for directory in &answer.results {
                    // A replica whose end is not known may have what would be given up.
                    let about = format!("a log directory of broker {}", broker.id);
                    ClientError::check(directory.error_code, &about, None)?;
                }
                let topics = answer.results.into_iter().flat_map(|directory| directory.topics);
                let rows = topics.flat_map(|topic| topic.partitions);
                ends.extend(rows.filter_map(|row| {
                    let last_epoch = LeaderEpoch(row.end.last_epoch);
                    let end = Offset::checked(row.end.end_offset)?;
                    Some(ReplicaEnd { broker: broker.id, last_epoch, end })
                }));
            }
            Ok(ends)
        })
    }

    /// [`Admin::elect_with_loss`](super::Admin::elect_with_loss) as a call.
    pub fn elect_with_loss(&self, election: &LossyElection) -> Call<()> {
        let LossyElection { partition, leader, accepts_two_leaders } = election.clone();
        let about = partition.to_string();
        let topic = RequestTopic {
            topic: partition.topic.to_string(),
            partitions: vec![partition.partition.0],
        };
        let request = ElectLeadersRequest {
            election_type: UNCLEAN,
            topic_partitions: Some(vec![topic]),
            timeout_ms: self.timeout_ms(),
            accepted_loss: AcceptedLoss {
                leader: leader.broker.0,
                given_up_from: leader.end.get(),
                accepts_two_leaders,
            },
            ..ElectLeadersRequest::default()
        };
        self.with_brokers("electing a leader", async move |brokers, _| {
            // Never retried: the outcome of a lost answer is seen in the topic.
            let answer = brokers.call_broker(leader.broker, &request).await?;
            ClientError::check(answer.error_code, &about, None)?;
            let mut rows = answer.replica_election_results.into_iter();
            let row = rows.next().and_then(|topic| topic.partition_result.into_iter().next());
            let row = row.ok_or_else(|| unanswered(&about))?;
            ClientError::check(row.error_code, &about, row.error_message.as_deref())
        })
    }
}
