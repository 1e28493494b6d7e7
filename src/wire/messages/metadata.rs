//! Metadata (key 3): brokers, topics, partitions and their leaders.

use crate::types::TopicId;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// "Not asked for", in fields that hold a set of authorized operations as bits.
pub const OPERATIONS_UNKNOWN: i32 = i32::MIN;

structure! {
    /// Asks about topics.
    MetadataRequest {
        /// The topics meant. `None` means all; in version 0 an empty list does.
        topics: Option<Vec<RequestTopic>> [0.., nullable 1..] = Some(Vec::new()),
        /// Whether a topic that does not exist may be created.
        allow_auto_topic_creation: bool [4..] = true,
        /// Whether to fill in what the client may do to the cluster.
        include_cluster_authorized_operations: bool [8..=10],
        /// Whether to fill in what the client may do to each topic.
        include_topic_authorized_operations: bool [8..],
    }
}

structure! {
    /// A topic asked about, by id or by name.
    RequestTopic {
        /// The id, if the topic is meant by it.
        topic_id: TopicId [10..],
        /// The name, unless the topic is meant by its id.
        name: Option<String> [0.., nullable 10..] = Some(String::new()),
    }
}

structure! {
    /// The cluster as the broker knows it.
    MetadataResponse {
        throttle_time_ms: i32 [3..],
        /// The brokers alive.
        brokers: Vec<Broker>,
        cluster_id: Option<String> [2..],
        /// The broker to which administration is addressed, or −1.
        controller_id: i32 [1..] = -1,
        topics: Vec<Topic>,
        /// What the client may do to the cluster, as bits by Kafka's numbers of operations.
        cluster_authorized_operations: i32 [8..=10] = OPERATIONS_UNKNOWN,
        /// What is wrong with the whole request.
        error_code: ErrorCode [13..],
    }
}

structure! {
    /// Where a broker is reached.
    Broker {
        node_id: i32,
        host: String,
        port: i32,
        rack: Option<String> [1..],
    }
}

structure! {
    /// One topic.
    Topic {
        error_code: ErrorCode,
        /// The name; `None` only if the topic was asked for by an id that nobody has.
        name: Option<String> [0.., nullable 12..] = Some(String::new()),
        topic_id: TopicId [10..],
        is_internal: bool [1..],
        partitions: Vec<Partition>,
        /// What the client may do to the topic, as bits by Kafka's numbers of operations.
        topic_authorized_operations: i32 [8..] = OPERATIONS_UNKNOWN,
    }
}

structure! {
    /// One partition.
    Partition {
        error_code: ErrorCode,
        partition_index: i32,
        /// The leader, or −1 while there is none.
        leader_id: i32,
        leader_epoch: i32 [7..] = -1,
        /// All brokers that should have the partition.
        replica_nodes: Vec<i32>,
        /// Those in sync with the leader.
        isr_nodes: Vec<i32>,
        /// Those that are down.
        offline_replicas: Vec<i32> [5..],
    }
}

api!(Metadata, 0..=13, MetadataRequest => MetadataResponse);
