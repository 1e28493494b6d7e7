//! `ApiVersions` (key 18): the first request of a connection; which APIs, versions and features.
//!
//! A broker answers any version it does not know with version 0 and `UNSUPPORTED_VERSION`.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks what the broker serves.
    ApiVersionsRequest {
        /// Name of the client library: letters, digits, `-` and `.`.
        client_software_name: String [3..],
        /// Version of the client library, of the same characters.
        client_software_version: String [3..],
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

api!(ApiVersions, 0..=4, ApiVersionsRequest => ApiVersionsResponse);
