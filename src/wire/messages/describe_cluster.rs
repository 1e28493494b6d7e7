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

api!(DescribeCluster, 0..=2, DescribeClusterRequest => DescribeClusterResponse);
