//! `ApiVersions`: the supported APIs and versions. The first request of nearly every connection.

use std::ops::RangeInclusive;

use crate::broker::access::Cluster;
use crate::broker::call::{Call, Unanswerable, encode};
use crate::net::Piece;
use crate::wire::api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeature, SupportedFeature,
};
use crate::wire::{ApiKey, ErrorCode, Message, Reader, RequestHeader};

/// The version of the response to a client whose version is too new.
const FALLBACK: i16 = 0;

/// The broker id in the request of a client that does not know the id.
const NOBODY: i32 = -1;

/// The feature level that tools show as the version of a broker: Kafka 4.0's.
const METADATA_LEVEL: i16 = 25;

/// An API with its supported versions.
type Served = (ApiKey, RangeInclusive<i16>);

/// Responds to a request of any version with the supported APIs.
pub(crate) fn answer(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    (header, mut body): (&RequestHeader<'_>, Reader<'_>),
    served: &[Served],
) -> Result<Vec<Piece>, Unanswerable> {
    if !ApiVersionsRequest::VERSIONS.contains(&header.version) {
        let header = RequestHeader { version: FALLBACK, ..*header };
        let answer = list(served, ErrorCode::UnsupportedVersion, FALLBACK);
        return encode::<ApiVersionsRequest>(&header, &answer);
    }
    let request: ApiVersionsRequest = header.decode_body(&mut body)?;
    let (name, version) = (&request.client_software_name, &request.client_software_version);
    let fault = if header.version >= 3 && !(is_legal(name) && is_legal(version)) {
        Some(ErrorCode::InvalidRequest)
    } else {
        misdirected(cluster, &request)
    };
    let answer = if let Some(error_code) = fault {
        ApiVersionsResponse { error_code, ..Default::default() }
    } else {
        *call.session.software.borrow_mut() = format!("{name} {version}");
        list(served, ErrorCode::None, header.version)
    };
    encode::<ApiVersionsRequest>(header, &answer)
}

/// Returns an error if the client means another broker, whose address now belongs to this one
/// (KIP-1242): the client must rebootstrap.
fn misdirected(cluster: &Cluster<'_>, request: &ApiVersionsRequest) -> Option<ErrorCode> {
    match (&request.cluster_id, request.node_id) {
        (None, NOBODY) => None,
        (Some(id), node) if node != NOBODY => {
            let is_meant = *id == *cluster.image().cluster_id() && node == cluster.broker_id().0;
            (!is_meant).then_some(ErrorCode::RebootstrapRequired)
        }
        _ => Some(ErrorCode::InvalidRequest),
    }
}

fn list(served: &[Served], error_code: ErrorCode, version: i16) -> ApiVersionsResponse {
    let api_keys = served
        .iter()
        .map(|(api, versions)| ApiVersion {
            api_key: api.number(),
            min_version: *versions.start(),
            max_version: *versions.end(),
        })
        .collect();
    // Clients before version 4 cannot handle a feature with level 0 as its minimum.
    let feature = "metadata.version".to_owned();
    let (min_version, max_version) = (i16::from(version < 4), METADATA_LEVEL);
    ApiVersionsResponse {
        error_code,
        api_keys,
        supported_features: vec![SupportedFeature {
            name: feature.clone(),
            min_version,
            max_version,
        }],
        finalized_features_epoch: 0,
        finalized_features: vec![FinalizedFeature {
            name: feature,
            max_version_level: METADATA_LEVEL,
            min_version_level: METADATA_LEVEL,
        }],
        ..ApiVersionsResponse::default()
    }
}

/// Returns true for letters and digits, with `-` and `.` between them.
fn is_legal(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let ends = [text.chars().next(), text.chars().next_back()];
    text.chars().all(inner) && ends.iter().all(|c| c.is_some_and(|c| c.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::dispatch::advertised;

    #[test]
    fn a_client_names_itself_with_letters_digits_dots_and_hyphens() {
        for text in ["a", "apache-kafka-java", "4.0.0", "librdkafka", "2.16.1-rc1"] {
            assert!(is_legal(text), "{text}");
        }
        for text in ["", "-a", "a.", "a b", "ä"] {
            assert!(!is_legal(text), "{text}");
        }
    }

    #[test]
    fn clients_that_infer_the_release_from_versions_infer_a_recent_one() {
        let apis = list(&advertised(), ErrorCode::None, 5).api_keys;
        let most = |key: ApiKey| {
            let row = apis.iter().find(|row| row.api_key == key.number()).unwrap();
            row.max_version
        };
        // kafka-python infers the releases 4.0, 4.1, 4.2 and 4.3 from these versions.
        assert_eq!((most(ApiKey::ListOffsets), most(ApiKey::Produce)), (11, 13));
        assert_eq!(most(ApiKey::DescribeLogDirs), 5);
    }

    #[test]
    fn produce_is_advertised_from_zero_and_every_api_once() {
        let apis = list(&advertised(), ErrorCode::None, 3).api_keys;
        assert_eq!((apis[0].api_key, apis[0].min_version), (0, 0));
        assert!(apis.windows(2).all(|pair| pair[0].api_key < pair[1].api_key));
    }
}
