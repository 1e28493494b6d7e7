//! Topics, as administrators create them.

use std::io;

use streamlog::wire::ErrorCode;
use streamlog::wire::create_topics::{CreateTopicsRequest, RequestTopic};

use super::Connection;

/// Creates a topic with the default number of replicas; returns the error code and the message.
pub(crate) fn create_topic(
    client: &mut Connection,
    name: &str,
    num_partitions: i32,
) -> (ErrorCode, String) {
    try_create_topic(client, name, num_partitions).unwrap()
}

/// The same on a connection that may break.
pub(crate) fn try_create_topic(
    client: &mut Connection,
    name: &str,
    num_partitions: i32,
) -> io::Result<(ErrorCode, String)> {
    let name = name.to_owned();
    let topic = RequestTopic { name, num_partitions, replication_factor: -1, ..Default::default() };
    let request =
        CreateTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..Default::default() };
    let answered = client.call(5, &request)?.topics.remove(0);
    Ok((answered.error_code, answered.error_message.unwrap_or_default()))
}
