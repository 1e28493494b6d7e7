//! `DescribeUserScramCredentials` (key 50): how users log in by password, without the passwords.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks about users.
    DescribeUserScramCredentialsRequest {
        /// The users meant; `None` or none means all.
        users: Option<Vec<User>>,
    }
}

structure! {
    /// A user asked for.
    User {
        name: String,
    }
}

structure! {
    /// How users log in.
    DescribeUserScramCredentialsResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
        results: Vec<UserResult>,
    }
}

structure! {
    /// How one user logs in.
    UserResult {
        user: String,
        error_code: ErrorCode,
        error_message: Option<String>,
        credential_infos: Vec<Credential>,
    }
}

structure! {
    /// One way for a user to log in.
    Credential {
        mechanism: i8,
        iterations: i32,
    }
}

api!(
    DescribeUserScramCredentials,
    0..=0,
    DescribeUserScramCredentialsRequest => DescribeUserScramCredentialsResponse
);
