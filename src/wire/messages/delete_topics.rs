//! `DeleteTopics` (key 20): deletes topics.
//!
//! Up to version 5 topics are identified by name; from version 6 on by name or id.

use crate::types::TopicId;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The topics to delete.
    DeleteTopicsRequest {
        topics: Vec<RequestTopic> [6..],
        topic_names: Vec<String> [..=5],
        /// The time to wait until the topics are deleted.
        timeout_ms: i32,
    }
}

structure! {
    /// A topic to delete.
    RequestTopic {
        /// The name, unless the topic is identified by id.
        name: Option<String>,
        /// The id, if the topic is identified by it.
        topic_id: TopicId,
    }
}

structure! {
    /// The results.
    DeleteTopicsResponse {
        throttle_time_ms: i32,
        responses: Vec<Topic>,
    }
}

structure! {
    /// The result for one topic.
    Topic {
        /// The name; `None` only if the topic was identified by an unknown id.
        name: Option<String> [0.., nullable 6..] = Some(String::new()),
        topic_id: TopicId [6..],
        error_code: ErrorCode,
        error_message: Option<String> [5..],
    }
}

api!(DeleteTopics, 1..=6, DeleteTopicsRequest => DeleteTopicsResponse);
