//! `ApiVersions` (key 18): the supported APIs, versions and features. The first request of a
//! connection.
//!
//! A broker answers an unknown version with version 0 and `UNSUPPORTED_VERSION`.

use bytes::Bytes;

use crate::wire::structure::{api, structure};
use crate::wire::{ErrorCode, Layout, Reader, Wire, WireError, decode_response};

structure! {
    /// A request for the supported versions.
    ApiVersionsRequest {
        /// The name of the client library: letters, digits, `-` and `.`.
        client_software_name: String [3..],
        /// The version of the client library, of the same characters.
        client_software_version: String [3..],
        /// The cluster id that the client expects, if it knows (KIP-1242).
        cluster_id: Option<String> [5..],
        /// The broker id that the client expects, or −1.
        node_id: i32 [5..] = -1,
    }
}

structure! {
    /// The supported versions.
    ApiVersionsResponse {
        error_code: ErrorCode,
        /// The advertised APIs.
        api_keys: Vec<ApiVersion>,
        /// The throttle time that the client should wait.
        throttle_time_ms: i32 [1..],
        /// The features that the broker supports.
        supported_features: Vec<SupportedFeature> [3.., tag 0],
        /// The epoch of the finalized features; −1 if unknown.
        finalized_features_epoch: i64 [3.., tag 1] = -1,
        /// The finalized features of the cluster.
        finalized_features: Vec<FinalizedFeature> [3.., tag 2],
        /// True if a migration from ZooKeeper may begin.
        zk_migration_ready: bool [3.., tag 3],
    }
}

structure! {
    /// The versions of an API. The key is a plain number: a peer may know APIs without a name here.
    ApiVersion {
        api_key: i16,
        min_version: i16,
        max_version: i16,
    }
}

structure! {
    /// The levels of a feature that the broker supports.
    SupportedFeature {
        name: String,
        min_version: i16,
        max_version: i16,
    }
}

structure! {
    /// The finalized levels of a feature.
    FinalizedFeature {
        name: String,
        max_version_level: i16,
        min_version_level: i16,
    }
}

api!(ApiVersions, 0..=5, ApiVersionsRequest => ApiVersionsResponse);

impl ApiVersionsResponse {
    /// Decodes the correlation id and body of the response to a request of this `version`.
    ///
    /// A broker that does not know the version answers in version 0. Both encodings are the same up
    /// to and including the error code.
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
    fn a_refusal_in_version_0_is_decoded_whatever_the_request_version() {
        for asked in ApiVersionsRequest::VERSIONS {
            comes_across(ErrorCode::UnsupportedVersion, 0, asked);
            comes_across(ErrorCode::None, asked, asked);
        }
    }
}
