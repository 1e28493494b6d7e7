//! The cluster: its brokers, and the disk usage of its partitions.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::client::admin::handle::AdminCalls;
use crate::client::{Call, ClientError};
use crate::config::HostPort;
use crate::types::{BrokerId, PartitionIndex, TopicPartition};
use crate::wire::{
    DescribeClusterRequest, DescribeClusterResponse, DescribeLogDirsRequest, ErrorCode,
    UnregisterBrokerRequest,
};

/// A cluster as one of its brokers sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDescription {
    /// The cluster id, assigned when it was created.
    pub id: String,
    /// The controller, while there is one.
    pub controller: Option<BrokerId>,
    /// Its live brokers, by id.
    pub brokers: Vec<BrokerDescription>,
}

/// A live broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerDescription {
    /// Its id.
    pub id: BrokerId,
    /// The address that clients connect to.
    pub address: HostPort,
    /// Its rack, if configured.
    pub rack: Option<String>,
}

/// A thing that is not in sync or not sound in a cluster, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The broker whose data directory has the problem; `None` if the metadata shows it.
    pub broker: Option<BrokerId>,
    /// The partition, if it concerns one.
    pub partition: Option<TopicPartition>,
    /// The problem, in words.
    pub words: String,
    /// The remedy, in words or as a command.
    pub remedy: String,
}

/// The disk usage of one partition on one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSize {
    /// The broker.
    pub broker: BrokerId,
    /// The data directory that holds the partition.
    pub directory: String,
    /// The partition.
    pub partition: TopicPartition,
    /// Size of its segments in bytes.
    pub bytes: u64,
}

impl AdminCalls {
    /// [`Admin::cluster`](super::Admin::cluster) as a call.
    pub fn cluster(&self) -> Call<ClusterDescription> {
        self.with_brokers("describing the cluster", async move |brokers, deadline| {
            let request = DescribeClusterRequest::default();
            let answer = brokers.until(deadline, &[], || brokers.call_any(&request)).await?;
            let words = answer.error_message.as_deref();
            ClientError::check(answer.error_code, "the cluster", words)?;
            let describe = |row: &crate::wire::describe_cluster::Broker| BrokerDescription {
                id: BrokerId(row.broker_id),
                address: HostPort::new(row.host.clone(), u16::try_from(row.port).unwrap_or(0)),
                rack: row.rack.clone(),
            };
            let mut brokers: Vec<_> = answer.brokers.iter().map(describe).collect();
            brokers.sort_by_key(|broker| broker.id);
            let controller = (answer.controller_id >= 0).then_some(BrokerId(answer.controller_id));
            Ok(ClusterDescription { id: answer.cluster_id, controller, brokers })
        })
    }

    /// [`Admin::unregister_broker`](super::Admin::unregister_broker) as a call.
    pub fn unregister_broker(&self, broker: BrokerId) -> Call<()> {
        self.with_brokers("forgetting a broker", async move |brokers, deadline| {
            let request = UnregisterBrokerRequest { broker_id: broker.0 };
            let answer = brokers.until(deadline, &[], || brokers.call_any(&request)).await?;
            let words = answer.error_message.as_deref();
            ClientError::check(answer.error_code, &format!("broker {broker}"), words)
        })
    }

    /// [`Admin::problems`](super::Admin::problems) as a call.
    pub fn problems(&self) -> Call<Vec<Problem>> {
        let calls = self.clone();
        self.with_brokers("checking the cluster", async move |brokers, deadline| {
            let cluster = calls.cluster().await?;
            let mut problems = Vec::new();
            if cluster.controller.is_none() {
                problems.push(Problem::of_cluster(
                    "there is no controller: elections and changes wait for the metadata store",
                    "see to ZooKeeper, and to the way of the brokers to it",
                ));
            }
            let request = DescribeClusterRequest {
                with_metadata_problems: true,
                ..DescribeClusterRequest::default()
            };
            let answer = brokers.until(deadline, &[], || brokers.call_any(&request)).await?;
            problems.extend(told(answer, "the cluster")?);
            let mut asked = JoinSet::new();
            for BrokerDescription { id, .. } in cluster.brokers {
                let brokers = Arc::clone(&brokers);
                // Asked concurrently: a broker that does not answer must not delay other answers.
                asked.spawn(async move {
                    let request = DescribeClusterRequest {
                        with_data_problems: true,
                        ..DescribeClusterRequest::default()
                    };
                    let asking = || brokers.call_broker(id, &request);
                    let answer = brokers.until(deadline, &[], asking).await;
                    (id, answer.and_then(|answer| told(answer, &format!("broker {id}"))))
                });
            }
            let mut answers = asked.join_all().await;
            answers.sort_unstable_by_key(|(id, _)| *id);
            for (id, told) in answers {
                match told {
                    Ok(told) => problems.extend(told),
                    Err(error) => problems.push(Problem::of_cluster(
                        &format!("broker {id} does not say what it has found: {error}"),
                        "see to that broker, and check again",
                    )),
                }
            }
            Ok(problems)
        })
    }

    /// [`Admin::partition_sizes`](super::Admin::partition_sizes) as a call.
    pub fn partition_sizes(&self) -> Call<Vec<PartitionSize>> {
        let calls = self.clone();
        self.with_brokers("measuring logs", async move |brokers, deadline| {
            let cluster = calls.cluster().await?;
            let ids: Vec<BrokerId> = cluster.brokers.iter().map(|broker| broker.id).collect();
            let request = DescribeLogDirsRequest::default();
            let mut sizes = Vec::new();
            for id in ids {
                let asking = || brokers.call_broker(id, &request);
                let answer = brokers.until(deadline, &[], asking).await?;
                ClientError::check(answer.error_code, &format!("broker {id}"), None)?;
                for directory in answer.results {
                    ClientError::check(directory.error_code, &directory.log_dir, None)?;
                    for topic in directory.topics {
                        let Ok(name) = topic.name.parse() else { continue };
                        let size = |row: crate::wire::describe_log_dirs::Partition| PartitionSize {
                            broker: id,
                            directory: directory.log_dir.clone(),
                            partition: TopicPartition {
                                topic: crate::types::TopicName::clone(&name),
                                partition: PartitionIndex(row.partition_index),
                            },
                            bytes: u64::try_from(row.partition_size).unwrap_or(0),
                        };
                        sizes.extend(topic.partitions.into_iter().map(size));
                    }
                }
            }
            Ok(sizes)
        })
    }
}

impl Problem {
    fn of_cluster(words: &str, remedy: &str) -> Self {
        let (words, remedy) = (words.to_owned(), remedy.to_owned());
        Self { broker: None, partition: None, words, remedy }
    }
}

/// The problems in the answer of a broker.
fn told(answer: DescribeClusterResponse, about: &str) -> Result<Vec<Problem>, ClientError> {
    ClientError::check(answer.error_code, about, answer.error_message.as_deref())?;
    if !answer.has_looked {
        let words = Some("its release cannot list problems");
        ClientError::check(ErrorCode::UnsupportedVersion, about, words)?;
    }
    Ok(answer.problems.into_iter().filter_map(problem).collect())
}

/// A problem as a broker describes it; `None` if it names a topic that cannot exist.
fn problem(row: crate::wire::describe_cluster::Problem) -> Option<Problem> {
    let partition = match row.topic {
        Some(topic) => {
            let partition = PartitionIndex(row.partition_index);
            Some(TopicPartition { topic: topic.parse().ok()?, partition })
        }
        None => None,
    };
    let broker = (row.broker_id >= 0).then_some(BrokerId(row.broker_id));
    Some(Problem { broker, partition, words: row.words, remedy: row.remedy })
}
