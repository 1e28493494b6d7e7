//! `DescribeUserScramCredentials`: nobody logs in by password, so there is no user to describe.

use std::future::{Ready, ready};

use crate::broker::authorize::{Operation, Resource};
use crate::broker::dispatch::Call;
use crate::wire::ErrorCode;
use crate::wire::describe_user_scram_credentials::{
    DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse, User, UserResult,
};

pub(crate) type Request = DescribeUserScramCredentialsRequest;

/// Knows no user.
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
    let unknown = |asked: User| UserResult {
        user: asked.name,
        error_code: ErrorCode::ResourceNotFound,
        error_message: Some("there is no such user".to_owned()),
        ..UserResult::default()
    };
    let results = request.users.unwrap_or_default().into_iter().map(unknown).collect();
    ready(DescribeUserScramCredentialsResponse {
        results,
        ..DescribeUserScramCredentialsResponse::default()
    })
}
