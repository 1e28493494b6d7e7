//! `DescribeUserScramCredentials`: there are no users, since SCRAM is not supported.

use std::collections::HashSet;
use std::future::{Ready, ready};

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::topics::repeated;
use crate::wire::ErrorCode;
use crate::wire::describe_user_scram_credentials::{
    DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse, User, UserResult,
};

pub(crate) type Request = DescribeUserScramCredentialsRequest;

/// Reports every user as unknown.
pub(crate) fn handle(
    call: &Call<'_>,
    request: Request,
) -> Ready<DescribeUserScramCredentialsResponse> {
    if !call.session.may(Operation::Describe, Resource::Cluster) {
        return ready(DescribeUserScramCredentialsResponse {
            error_code: ErrorCode::ClusterAuthorizationFailed,
            ..DescribeUserScramCredentialsResponse::default()
        });
    }
    ready(DescribeUserScramCredentialsResponse {
        results: results(request.users.unwrap_or_default()),
        ..DescribeUserScramCredentialsResponse::default()
    })
}

/// One result per name; a repeated name is an error.
fn results(users: Vec<User>) -> Vec<UserResult> {
    let repeated = repeated(users.iter().map(|user| user.name.clone()));
    let mut seen = HashSet::new();
    let asked = users.into_iter().filter(|user| seen.insert(user.name.clone()));
    let result = |user: User| {
        let (error_code, cause) = if repeated.contains(&user.name) {
            (ErrorCode::DuplicateResource, "the user is named more than once in the request")
        } else {
            (ErrorCode::ResourceNotFound, "there is no such user")
        };
        let error_message = Some(cause.to_owned());
        UserResult { user: user.name, error_code, error_message, ..UserResult::default() }
    };
    asked.map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_named_twice_is_reported_once_and_as_an_error() {
        let users = ["a", "b", "a"].map(|name| User { name: name.to_owned() });
        let seen = results(users.into()).into_iter();
        let seen: Vec<_> = seen.map(|result| (result.user, result.error_code)).collect();
        let expected = [("a", ErrorCode::DuplicateResource), ("b", ErrorCode::ResourceNotFound)];
        assert_eq!(seen, expected.map(|(name, code)| (name.to_owned(), code)));
    }
}
