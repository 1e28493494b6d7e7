//! `ApiVersions` (key 18): the first request of a connection; which APIs, versions and features.
//!
//! A broker answers any version it does not know with version 0 and `UNSUPPORTED_VERSION`.

use bytes::Bytes;

use crate::wire::structure::{api, structure};
use crate::wire::{ErrorCode, Layout, Reader, Wire, WireError, decode_response};

structure! {
    /// Asks what the broker serves.
    ApiVersionsRequest {
        /// Name of the client library: letters, digits, `-` and `.`.
        client_software_name: String [3..],
        /// Version of the client library, of the same characters.
        client_software_version: String [3..],
        /// The cluster that the client expects here, if it knows.
        cluster_id: Option<String> [5..],
        /// The broker that the client expects here, or −1.
        node_id: i32 [5..] = -1,
    }
}

structure! {
    /// What the broker serves.
    ApiVersionsResponse {
        error_code: ErrorCode,
        /// One entry per advertised API.
        api_keys: Vec<ApiVersion>,
        /// How long the client should wait before its next request.
        throttle_time_ms: i32 [1..],
        /// Features the broker could have.
        supported_features: Vec<SupportedFeature> [3.., tag 0],
        /// Which state of the cluster's features this is; −1 is unknown.
        finalized_features_epoch: i64 [3.., tag 1] = -1,
        /// Features the cluster has agreed upon.
        finalized_features: Vec<FinalizedFeature> [3.., tag 2],
        /// Whether a migration away from ZooKeeper may begin.
        zk_migration_ready: bool [3.., tag 3],
    }
}

structure! {
    /// Versions of one API. The key is a bare number: a peer may know APIs that have no name here.
    ApiVersion {
        api_key: i16,
        min_version: i16,
        max_version: i16,
    }
}

structure! {
    /// Levels of a feature the broker could run at.
    SupportedFeature {
        name: String,
        min_version: i16,
        max_version: i16,
    }
}

structure! {
    /// Levels of a feature the cluster runs at.
    FinalizedFeature {
        name: String,
        max_version_level: i16,
        min_version_level: i16,
    }
}

api!(ApiVersions, 0..=5, ApiVersionsRequest => ApiVersionsResponse);

impl ApiVersionsResponse {
    /// The correlation id and body of an answer to a request of this `version`.
    ///
    /// A broker that does not know the version answers in version 0: the two look the same up to
    /// and including the error code.
    pub fn from_frame(frame: &Bytes, version: i16) -> Result<(i32, Self), WireError> {
        let mut reader = Reader::new(frame, Layout::classic(0));
        let _correlation_id = i32::decode(&mut reader)?;
        let refused = ErrorCode::decode(&mut reader)? == ErrorCode::UnsupportedVersion;
        decode_response::<ApiVersionsRequest>(frame, if refused { 0 } else { version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Message, encode_response};

    fn comes_across(error_code: ErrorCode, sent: i16, asked: i16) {
        let apis = vec![ApiVersion { api_key: 18, min_version: 0, max_version: 4 }];
        let response = ApiVersionsResponse { error_code, api_keys: apis, ..Default::default() };
        let frame = encode_response::<ApiVersionsRequest>(6, sent, &response).unwrap();
        let frame = frame.into_bytes().slice(4..);
        let (correlation_id, read) = ApiVersionsResponse::from_frame(&frame, asked).unwrap();
        assert_eq!((correlation_id, read), (6, response));
    }

    #[test]
    fn a_refusal_in_version_0_is_understood_whatever_was_asked() {
        for asked in ApiVersionsRequest::VERSIONS {
            comes_across(ErrorCode::UnsupportedVersion, 0, asked);
            comes_across(ErrorCode::None, asked, asked);
        }
    }
}
