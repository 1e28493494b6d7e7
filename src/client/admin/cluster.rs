//! The cluster: its brokers, and the disk usage of its partitions.

use crate::client::admin::handle::AdminCalls;
use crate::client::{Call, ClientError};
use crate::config::HostPort;
use crate::types::{BrokerId, PartitionIndex, TopicPartition};
use crate::wire::{DescribeClusterRequest, DescribeLogDirsRequest, UnregisterBrokerRequest};

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
