//! Fetch requests to one broker, and the results by partition.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;

use crate::client::cluster::{Brokers, NamedLeader, Role, Topology};
use crate::client::consumer::config::ConsumerConfig;
use crate::client::consumer::fetch_buffer::Source;
use crate::client::{ClientError, Damage, OrderFault};
use crate::config::HostPort;
use crate::link::{Connection, Reply};
use crate::types::{LeaderEpoch, Offset, TopicId, TopicName};
use crate::wire::fetch::{Partition, RequestPartition, RequestTopic, Topic};
use crate::wire::{ErrorCode, FetchRequest, FetchResponse, Records};

/// The last version that identifies topics by name (KIP-516).
const LAST_BY_NAME: i16 = 12;

/// The partitions of one fetch request.
#[derive(Debug, Default)]
pub(crate) struct FetchPlan {
    rows: Vec<Row>,
}

/// A partition to fetch.
#[derive(Clone, Debug)]
struct Row {
    source: Source,
    may_wait: bool,
    id: TopicId,
    epoch: LeaderEpoch,
}

/// The result for one partition.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// The requested position.
    pub(crate) source: Source,
    /// The records, or the error.
    pub(crate) outcome: Result<PartitionData, ClientError>,
}

/// Records of a partition, and its high watermark.
#[derive(Debug)]
pub(crate) struct PartitionData {
    pub(crate) records: Bytes,
    pub(crate) high_watermark: Option<Offset>,
    /// True if the whole response had no records, so that none were left out for lack of space.
    pub(crate) is_dry: bool,
}

impl PartitionData {
    /// The fault of a response without any records although the log reaches beyond the position.
    pub(crate) fn withheld(&self, position: Offset) -> Option<OrderFault> {
        let end = self.high_watermark.filter(|end| self.is_dry && *end > position)?;
        Some(OrderFault::Missing { from: position, to: end })
    }
}

impl FetchPlan {
    /// Adds a partition. The response waits for records only if `may_wait` is true for every
    /// partition.
    pub(crate) fn add(&mut self, source: Source, may_wait: bool, topology: &Topology) {
        let info = topology.topic(&source.partition.topic);
        let partition = info.and_then(|info| info.partition(source.partition.partition));
        let epoch = partition.map_or(LeaderEpoch::NONE, |partition| partition.epoch);
        let id = info.map_or(TopicId::NONE, |info| info.id);
        self.rows.push(Row { source, may_wait, id, epoch });
    }

    /// Changes which partition comes first, so that none starves when responses are full.
    pub(crate) fn rotate(&mut self, by: usize) {
        let length = self.rows.len().max(1);
        self.rows.rotate_left(by % length);
    }

    /// The requested positions.
    pub(crate) fn sources(&self) -> Vec<Source> {
        self.rows.iter().map(|row| row.source.clone()).collect()
    }

    /// Sends the request.
    pub(crate) fn send(
        &self,
        connection: &Connection,
        config: &ConsumerConfig,
    ) -> Result<Reply<FetchRequest>, ClientError> {
        let are_known = self.rows.iter().all(|row| row.id != TopicId::NONE);
        let highest = if are_known { i16::MAX } else { LAST_BY_NAME };
        let version = connection.version_of::<FetchRequest>(highest)?;
        Ok(connection.submit_with(version, &self.request(config), &[])?)
    }

    /// Waits for the response from `address`, which may come after `wait`, and returns its parts.
    /// `brokers` is told the leaders that the response names, and its throttle time.
    pub(crate) async fn arrive(
        self,
        reply: Reply<FetchRequest>,
        (brokers, address): (&Brokers, &HostPort),
        wait: Duration,
    ) -> Vec<Fetched> {
        let partitions = || self.rows.iter().map(|row| row.source.partition.clone()).collect();
        let role = || Role::Leader(partitions());
        let answer = brokers.answer_in_role((address, wait), role, reply.answer()).await;
        let delay_ms = answer.as_ref().map_or(0, |answer| answer.throttle_time_ms);
        brokers.monitor().throttled(address, delay_ms);
        if let Ok(answer) = &answer {
            brokers.take_over(&NamedLeader::in_fetched(answer));
        }
        self.settle(answer)
    }

    /// Pairs each requested partition with its part of the response.
    pub(crate) fn settle(self, answer: Result<FetchResponse, ClientError>) -> Vec<Fetched> {
        let answer = answer.and_then(|answer| match answer.error_code {
            ErrorCode::None => Ok(answer),
            code => Err(ClientError::from_code(code, "fetching", None)),
        });
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let fail = |row: Row| Fetched { source: row.source, outcome: Err(error.clone()) };
                return self.rows.into_iter().map(fail).collect();
            }
        };
        let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
        let is_dry = partitions.map(|row| &row.records).all(Records::is_empty);
        let mut places: HashMap<(TopicId, String, i32), Partition> = HashMap::new();
        for Topic { topic, topic_id, partitions } in answer.topics.drain(..) {
            for partition in partitions {
                places.insert((topic_id, topic.clone(), partition.partition_index), partition);
            }
        }
        let find = |row: Row| {
            let partition = &row.source.partition;
            let by_name =
                (TopicId::NONE, partition.topic.as_str().to_owned(), partition.partition.0);
            let by_id = (row.id, String::new(), partition.partition.0);
            let found = places.remove(&by_id).or_else(|| places.remove(&by_name))?;
            let outcome = judge(found, &row.source).map(|data| PartitionData { is_dry, ..data });
            Some(Fetched { source: row.source, outcome })
        };
        self.rows.into_iter().filter_map(find).collect()
    }

    fn request(&self, config: &ConsumerConfig) -> FetchRequest {
        let mut order: Vec<&TopicName> = Vec::new();
        let mut topics: BTreeMap<&TopicName, RequestTopic> = BTreeMap::new();
        for row in &self.rows {
            let partition = &row.source.partition;
            let topic = topics.entry(&partition.topic).or_insert_with(|| {
                order.push(&partition.topic);
                RequestTopic {
                    topic: partition.topic.as_str().to_owned(),
                    topic_id: row.id,
                    partitions: Vec::new(),
                }
            });
            topic.partitions.push(RequestPartition {
                partition: partition.partition.0,
                current_leader_epoch: row.epoch.0,
                fetch_offset: row.source.position.get(),
                partition_max_bytes: narrow(config.partition_fetch_max.0),
                ..RequestPartition::default()
            });
        }
        let may_wait = self.rows.iter().all(|row| row.may_wait);
        let wait = if may_wait { config.fetch_wait } else { Duration::ZERO };
        FetchRequest {
            max_wait_ms: i32::try_from(wait.as_millis()).unwrap_or(i32::MAX),
            min_bytes: narrow(config.fetch_min.0),
            max_bytes: narrow(config.fetch_max.0),
            topics: order.into_iter().filter_map(|name| topics.remove(name)).collect(),
            ..FetchRequest::default()
        }
    }
}

fn judge(row: Partition, source: &Source) -> Result<PartitionData, ClientError> {
    match row.error_code {
        ErrorCode::None => {}
        // No retry: the broker has already tried to read its disk.
        ErrorCode::CorruptMessage => return Err(source.damaged(Damage::Refused)),
        code => return Err(ClientError::from_code(code, &source.partition.to_string(), None)),
    }
    let records = match row.records {
        Records::Bytes(bytes) => bytes,
        Records::Null | Records::Elsewhere(_) => Bytes::new(),
    };
    Ok(PartitionData {
        records,
        high_watermark: Offset::checked(row.high_watermark),
        is_dry: false,
    })
}

fn narrow(bytes: u64) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}
