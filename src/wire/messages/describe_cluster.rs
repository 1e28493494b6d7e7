//! `DescribeCluster` (key 60): the brokers of the cluster.

use super::metadata::OPERATIONS_UNKNOWN;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request for the cluster.
    DescribeClusterRequest {
        /// True to include the operations that the client may perform on the cluster.
        include_cluster_authorized_operations: bool,
        /// The type of endpoints: 1 for brokers, 2 for controllers.
        endpoint_type: i8 [1..] = 1,
        /// True to include fenced brokers.
        include_fenced_brokers: bool [2..],
        /// A streamlog extension: true to include the problems in the broker's data directory.
        with_data_problems: bool [0.., tag 10_000],
        /// A streamlog extension: true to include the problems that the metadata shows.
        with_metadata_problems: bool [0.., tag 10_001],
    }
}

structure! {
    /// The cluster.
    DescribeClusterResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
        /// The type of endpoints in the response.
        endpoint_type: i8 [1..] = 1,
        cluster_id: String,
        /// The controller, to which administrative requests are sent, or −1.
        controller_id: i32 = -1,
        brokers: Vec<Broker>,
        /// The operations that the client may perform on the cluster, as a bit mask of Kafka's
        /// codes.
        cluster_authorized_operations: i32 = OPERATIONS_UNKNOWN,
        /// A streamlog extension, on request: what is not in sync or not sound.
        problems: Vec<Problem> [0.., tag 10_000],
        /// A streamlog extension: true if the problems were asked for and looked for.
        has_looked: bool [0.., tag 10_001],
    }
}

structure! {
    /// A broker and its address.
    Broker {
        broker_id: i32,
        host: String,
        port: i32,
        rack: Option<String>,
        /// True if the broker is registered but fenced.
        is_fenced: bool [2..],
    }
}

structure! {
    /// A problem of the cluster, and its remedy.
    Problem {
        /// The broker whose data directory has it, or −1.
        broker_id: i32 = -1,
        /// The topic of the partition, if it concerns one.
        topic: Option<String>,
        partition_index: i32,
        words: String,
        remedy: String,
    }
}

api!(DescribeCluster, 0..=2, DescribeClusterRequest => DescribeClusterResponse);
