//! `DescribeCluster` (key 60): the brokers, without any topics.

use super::metadata::OPERATIONS_UNKNOWN;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks about the cluster.
    DescribeClusterRequest {
        /// Whether to fill in what the client may do to the cluster.
        include_cluster_authorized_operations: bool,
        /// 1 asks for brokers, 2 for controllers.
        endpoint_type: i8 [1..] = 1,
        /// Whether to list brokers that are fenced off too.
        include_fenced_brokers: bool [2..],
    }
}

structure! {
    /// The cluster.
    DescribeClusterResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
        /// What was asked for.
        endpoint_type: i8 [1..] = 1,
        cluster_id: String,
        /// The broker to which administration is addressed, or −1.
        controller_id: i32 = -1,
        brokers: Vec<Broker>,
        /// What the client may do to the cluster, as bits by Kafka's numbers of operations.
        cluster_authorized_operations: i32 = OPERATIONS_UNKNOWN,
    }
}

structure! {
    /// Where a broker is reached.
    Broker {
        broker_id: i32,
        host: String,
        port: i32,
        rack: Option<String>,
        /// Whether the broker is known to the controller and serves nobody.
        is_fenced: bool [2..],
    }
}

api!(DescribeCluster, 0..=2, DescribeClusterRequest => DescribeClusterResponse);
