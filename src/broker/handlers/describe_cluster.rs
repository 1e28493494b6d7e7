//! `DescribeCluster`: the brokers, at the addresses that this client should use.

use crate::broker::access::{Addresses, Cluster};
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::handlers::metadata::ALL_CLUSTER_OPERATIONS;
use crate::metadata::{Image, Problem as Found};
use crate::types::BrokerId;
use crate::wire::ErrorCode;
use crate::wire::describe_cluster::{
    Broker, DescribeClusterRequest, DescribeClusterResponse, Problem,
};
use crate::wire::metadata::Broker as DescribedBroker;

pub(crate) type Request = DescribeClusterRequest;

/// The endpoint types of brokers and of controllers, which have no addresses of their own here.
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

/// The protocol's id for no broker, and for no controller.
const NO_BROKER: BrokerId = BrokerId(-1);

/// Describes the cluster.
pub(crate) async fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    addresses: &Addresses<'_>,
    request: Request,
) -> DescribeClusterResponse {
    let may = call.session.may(Operation::Describe, Resource::Cluster);
    let image = cluster.image();
    // The metadata store says which broker is the controller. Without the store, no controller can
    // act.
    let controller = cluster.reaches_store().then(|| addresses.controller(&image));
    let mut response = describe(&image, addresses, &request, (may, controller));
    if response.error_code == ErrorCode::None {
        let (in_data, in_metadata) = (request.with_data_problems, request.with_metadata_problems);
        let problems = cluster.problems(in_data, in_metadata).await;
        response.problems = problems.into_iter().map(encoded).collect();
        response.has_looked = in_data || in_metadata;
    }
    response
}

fn encoded(found: Found) -> Problem {
    let partition = found.partition.as_ref();
    Problem {
        broker_id: found.broker.unwrap_or(NO_BROKER).0,
        topic: partition.map(|partition| partition.topic.to_string()),
        partition_index: partition.map_or(0, |partition| partition.partition.0),
        words: found.words,
        remedy: found.remedy,
    }
}

fn describe(
    image: &Image,
    addresses: &Addresses<'_>,
    request: &Request,
    (may, controller): (bool, Option<BrokerId>),
) -> DescribeClusterResponse {
    let endpoint_type = request.endpoint_type;
    let refused = |error_code, message: &str| DescribeClusterResponse {
        error_code,
        error_message: Some(message.to_owned()),
        endpoint_type: BROKERS,
        ..DescribeClusterResponse::default()
    };
    match endpoint_type {
        BROKERS => {}
        CONTROLLERS => return refused(ErrorCode::MismatchedEndpointType, "this is a broker"),
        _ => return refused(ErrorCode::UnsupportedEndpointType, "the endpoint type is unknown"),
    }
    if !may {
        return refused(
            ErrorCode::ClusterAuthorizationFailed,
            "not authorized to describe the cluster",
        );
    }
    let broker = |described: DescribedBroker| Broker {
        broker_id: described.node_id,
        host: described.host,
        port: described.port,
        rack: described.rack,
        // Only live brokers are known here.
        is_fenced: false,
    };
    let mut response = DescribeClusterResponse {
        endpoint_type,
        cluster_id: image.cluster_id().to_owned(),
        controller_id: controller.unwrap_or(NO_BROKER).0,
        brokers: addresses.brokers(image).into_iter().map(broker).collect(),
        ..DescribeClusterResponse::default()
    };
    if request.include_cluster_authorized_operations {
        response.cluster_authorized_operations = ALL_CLUSTER_OPERATIONS;
    }
    response
}
