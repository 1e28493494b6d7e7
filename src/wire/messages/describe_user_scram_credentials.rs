//! `DescribeUserScramCredentials` (key 50): the SCRAM credentials of users, without secrets.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request for the credentials of users.
    DescribeUserScramCredentialsRequest {
        /// The requested users; `None` or empty for all.
        users: Option<Vec<User>>,
    }
}

structure! {
    /// A requested user.
    User {
        name: String,
    }
}

structure! {
    /// The credentials of users.
    DescribeUserScramCredentialsResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
        results: Vec<UserResult>,
    }
}

structure! {
    /// The credentials of a user.
    UserResult {
        user: String,
        error_code: ErrorCode,
        error_message: Option<String>,
        credential_infos: Vec<Credential>,
    }
}

structure! {
    /// A credential.
    Credential {
        /// 1 for SCRAM-SHA-256, 2 for SCRAM-SHA-512. streamlog has no users, so it sends no
        /// credential.
        mechanism: i8,
        iterations: i32,
    }
}

api!(
    DescribeUserScramCredentials,
    0..=0,
    DescribeUserScramCredentialsRequest => DescribeUserScramCredentialsResponse
);
