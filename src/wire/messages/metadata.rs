//! `Metadata` (key 3): brokers, topics, partitions and their leaders.

use crate::types::TopicId;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// The value of authorized operations that were not requested.
pub const OPERATIONS_UNKNOWN: i32 = i32::MIN;

structure! {
    /// A request for topics.
    MetadataRequest {
        /// The requested topics; `None` for all, in version 0 an empty list.
        topics: Option<Vec<RequestTopic>> [0.., nullable 1..] = Some(Vec::new()),
        /// True if missing topics may be created.
        allow_auto_topic_creation: bool [4..] = true,
        /// True to include the operations that the client may perform on the cluster.
        include_cluster_authorized_operations: bool [8..=10],
        /// True to include the operations that the client may perform on each topic.
        include_topic_authorized_operations: bool [8..],
        /// A streamlog extension between its brokers: the maximum time to wait until this broker
        /// serves each topic in its `awaited` state; 0 to answer at once.
        applied_within_ms: i32 [12.., tag 10_000],
    }
}

structure! {
    /// A requested topic, identified by id or name.
    RequestTopic {
        /// The id, if the topic is identified by it.
        topic_id: TopicId [10..],
        /// The name, unless the topic is identified by id.
        name: Option<String> [0.., nullable 10..] = Some(String::new()),
        /// A streamlog extension between its brokers: the state to wait for.
        awaited: AwaitedTopic [12.., tag 10_000],
    }
}

structure! {
    /// The state of a topic as another broker knows it.
    AwaitedTopic {
        /// True if the topic is deleted.
        is_deleted: bool,
        /// The leader epoch of each partition.
        leader_epochs: Vec<i32>,
        /// The version of the topic's settings, or −1 if no setting of the topic overrides a
        /// broker's.
        config_version: i32 = -1,
    }
}

structure! {
    /// The cluster as known to the broker.
    MetadataResponse {
        throttle_time_ms: i32 [3..],
        /// The live brokers.
        brokers: Vec<Broker>,
        cluster_id: Option<String> [2..],
        /// The controller, to which administrative requests are sent, or −1.
        controller_id: i32 [1..] = -1,
        topics: Vec<Topic>,
        /// The operations that the client may perform on the cluster, as a bit mask of Kafka's
        /// codes.
        cluster_authorized_operations: i32 [8..=10] = OPERATIONS_UNKNOWN,
        /// The error of the whole request.
        error_code: ErrorCode [13..],
    }
}

structure! {
    /// A broker and its address.
    Broker {
        node_id: i32,
        host: String,
        port: i32,
        rack: Option<String> [1..],
    }
}

structure! {
    /// A topic.
    Topic {
        error_code: ErrorCode,
        /// The name; `None` only if the topic was requested by an unknown id.
        name: Option<String> [0.., nullable 12..] = Some(String::new()),
        topic_id: TopicId [10..],
        is_internal: bool [1..],
        partitions: Vec<Partition>,
        /// The operations that the client may perform on the topic, as a bit mask of Kafka's codes.
        topic_authorized_operations: i32 [8..] = OPERATIONS_UNKNOWN,
    }
}

structure! {
    /// A partition.
    Partition {
        error_code: ErrorCode,
        partition_index: i32,
        /// The leader, or −1 if there is none.
        leader_id: i32,
        leader_epoch: i32 [7..] = -1,
        /// The assigned replicas.
        replica_nodes: Vec<i32>,
        /// The in-sync replicas.
        isr_nodes: Vec<i32>,
        /// The replicas on unavailable brokers.
        offline_replicas: Vec<i32> [5..],
    }
}

api!(Metadata, 0..=13, MetadataRequest => MetadataResponse);
