//! `ListConfigResources`: the resources whose settings can be described.

use std::future::{Ready, ready};

use crate::broker::access::Cluster;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::metadata::Image;
use crate::wire::ErrorCode;
use crate::wire::list_config_resources::{
    BROKER, BROKER_LOGGER, CLIENT_METRICS, ConfigResource, GROUP, ListConfigResourcesRequest,
    ListConfigResourcesResponse, TOPIC,
};

pub(crate) type Request = ListConfigResourcesRequest;

/// Every resource type. The last three have no resources: client metrics are not supported, and
/// neither log levels nor groups have settings.
const KINDS: [i8; 5] = [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP];

/// Lists the resources of the requested types.
#[expect(clippy::needless_pass_by_value, reason = "every handler is handed its request")]
pub(crate) fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    request: Request,
) -> Ready<ListConfigResourcesResponse> {
    let refused = |error_code| {
        ready(ListConfigResourcesResponse { error_code, ..ListConfigResourcesResponse::default() })
    };
    if !call.session.may(Operation::DescribeConfigs, Resource::Cluster) {
        return refused(ErrorCode::ClusterAuthorizationFailed);
    }
    let Some(kinds) = kinds(call.version, &request.resource_types) else {
        return refused(ErrorCode::UnsupportedVersion);
    };
    let image = cluster.image();
    let listed = kinds.iter().flat_map(|kind| {
        let name = move |resource_name| ConfigResource { resource_name, resource_type: *kind };
        names(&image, *kind).into_iter().map(name)
    });
    ready(ListConfigResourcesResponse {
        config_resources: listed.collect(),
        ..ListConfigResourcesResponse::default()
    })
}

/// The requested types; `None` if one is unknown.
fn kinds(version: i16, asked: &[i8]) -> Option<Vec<i8>> {
    if version == 0 {
        return Some(vec![CLIENT_METRICS]);
    }
    let is_meant = |kind: &i8| asked.is_empty() || asked.contains(kind);
    let all_known = asked.iter().all(|kind| KINDS.contains(kind));
    all_known.then(|| KINDS.into_iter().filter(is_meant).collect())
}

fn names(image: &Image, kind: i8) -> Vec<String> {
    match kind {
        TOPIC => image.topics().map(|topic| topic.name.to_string()).collect(),
        BROKER => image.brokers().map(|broker| broker.id.to_string()).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_means_all_and_an_unknown_one_is_refused() {
        assert_eq!(kinds(1, &[]), Some(KINDS.to_vec()));
        assert_eq!(kinds(1, &[BROKER, BROKER]), Some(vec![BROKER]));
        assert_eq!(kinds(1, &[BROKER, 3]), None);
        assert_eq!(kinds(0, &[]), Some(vec![CLIENT_METRICS]), "version 0 asks for nothing else");
    }
}
