//! An operator's decisions about a partition: a leader that lacks acknowledged records, and a state
//! that is made again.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::client::admin::handle::{AdminCalls, unanswered};
use crate::client::{Call, ClientError};
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicPartition};
use crate::wire::describe_log_dirs::DescribeLogDirsResponse;
use crate::wire::describe_log_dirs::RequestTopic as AskedTopic;
use crate::wire::elect_leaders::{AcceptedLoss, REBUILD, RequestTopic, UNCLEAN};
use crate::wire::{DescribeLogDirsRequest, ElectLeadersRequest, ElectLeadersResponse};

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

/// The ends of a partition's replicas, as far as their brokers report them.
#[derive(Debug, Default)]
pub struct ReplicaEnds {
    /// The ends that are known.
    pub known: Vec<ReplicaEnd>,
    /// The brokers that have not reported an end, with the reasons.
    pub unknown: Vec<(BrokerId, ClientError)>,
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
    pub fn replica_ends(
        &self,
        partition: &TopicPartition,
        replicas: &[BrokerId],
    ) -> Call<ReplicaEnds> {
        let topic = AskedTopic {
            topic: partition.topic.to_string(),
            partitions: vec![partition.partition.0],
        };
        let request = DescribeLogDirsRequest {
            topics: Some(vec![topic]),
            with_ends: true,
            ..DescribeLogDirsRequest::default()
        };
        let (calls, request, replicas) = (self.clone(), Arc::new(request), replicas.to_vec());
        self.with_brokers("reading the ends of logs", async move |brokers, deadline| {
            let mut asked = JoinSet::new();
            let live = calls.cluster().await?.brokers.into_iter().map(|broker| broker.id);
            for broker in live.filter(|broker| replicas.contains(broker)) {
                let (brokers, request) = (Arc::clone(&brokers), Arc::clone(&request));
                // Asked concurrently: a broker that does not answer must not delay other answers.
                asked.spawn(async move {
                    let asking = || brokers.call_broker(broker, &*request);
                    let answer = brokers.until(deadline, &[], asking).await;
                    (broker, answer.and_then(|answer| end_in(answer, broker)))
                });
            }
            let mut ends = ReplicaEnds::default();
            for (broker, end) in asked.join_all().await {
                match end {
                    Ok(end) => ends.known.extend(end),
                    Err(error) => ends.unknown.push((broker, error)),
                }
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
            // Never retried: if the answer is lost, a description of the topic shows the outcome.
            let answer = brokers.call_broker(leader.broker, &request).await?;
            decided(answer, &about)
        })
    }

    /// [`Admin::rebuild_state`](super::Admin::rebuild_state) as a call.
    pub fn rebuild_state(&self, partition: &TopicPartition, epoch: LeaderEpoch) -> Call<()> {
        let about = partition.to_string();
        let topic = RequestTopic {
            topic: partition.topic.to_string(),
            partitions: vec![partition.partition.0],
        };
        let request = ElectLeadersRequest {
            election_type: REBUILD,
            topic_partitions: Some(vec![topic]),
            timeout_ms: self.timeout_ms(),
            rebuilt_epoch: epoch.0,
            ..ElectLeadersRequest::default()
        };
        self.with_brokers("rebuilding a state", async move |brokers, _| {
            let answer = brokers.call_any(&request).await?;
            decided(answer, &about)
        })
    }
}

/// The outcome of a decision about one partition.
fn decided(answer: ElectLeadersResponse, about: &str) -> Result<(), ClientError> {
    ClientError::check(answer.error_code, about, None)?;
    let mut rows = answer.replica_election_results.into_iter();
    let row = rows.next().and_then(|topic| topic.partition_result.into_iter().next());
    let row = row.ok_or_else(|| unanswered(about))?;
    ClientError::check(row.error_code, about, row.error_message.as_deref())
}

/// The end in the answer of a broker; `None` if it has no such replica.
fn end_in(
    answer: DescribeLogDirsResponse,
    broker: BrokerId,
) -> Result<Option<ReplicaEnd>, ClientError> {
    ClientError::check(answer.error_code, &format!("broker {broker}"), None)?;
    for directory in &answer.results {
        // Fail rather than ignore the directory: a replica whose end is unknown may hold the
        // records that the election would give up.
        let about = format!("a log directory of broker {broker}");
        ClientError::check(directory.error_code, &about, None)?;
    }
    let topics = answer.results.into_iter().flat_map(|directory| directory.topics);
    let end = topics.flat_map(|topic| topic.partitions).find_map(|row| {
        let last_epoch = LeaderEpoch(row.end.last_epoch);
        let end = Offset::checked(row.end.end_offset)?;
        Some(ReplicaEnd { broker, last_epoch, end })
    });
    Ok(end)
}
