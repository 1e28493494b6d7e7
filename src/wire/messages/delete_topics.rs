//! `DeleteTopics` (key 20).
//!
//! Up to version 5 topics are named, from version 6 each is meant by its name or by its id.

use crate::types::TopicId;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Says which topics to delete.
    DeleteTopicsRequest {
        topics: Vec<RequestTopic> [6..],
        topic_names: Vec<String> [..=5],
        /// How long to wait until they are gone.
        timeout_ms: i32,
    }
}

structure! {
    /// A topic to delete.
    RequestTopic {
        /// The name, unless the topic is meant by its id.
        name: Option<String>,
        /// The id, if the topic is meant by it.
        topic_id: TopicId,
    }
}

structure! {
    /// What was deleted.
    DeleteTopicsResponse {
        throttle_time_ms: i32,
        responses: Vec<Topic>,
    }
}

structure! {
    /// What became of one topic.
    Topic {
        /// The name; `None` only if the topic was meant by an id that nobody has.
        name: Option<String> [0.., nullable 6..] = Some(String::new()),
        topic_id: TopicId [6..],
        error_code: ErrorCode,
        error_message: Option<String> [5..],
    }
}

api!(DeleteTopics, 1..=6, DeleteTopicsRequest => DeleteTopicsResponse);
