//! The follower's end of a fetch session with a leader (KIP-227).
//!
//! The first request of a session names all partitions with their positions. Later requests name
//! only the partitions whose positions have changed, and those to forget. This module decides
//! nothing and does no I/O. It turns the partitions to fetch into the next request, and keeps the
//! positions that the leader knows, to which its answers refer.

use std::collections::BTreeMap;

use crate::config::ByteSize;
use crate::replication::FollowerPosition;
use crate::types::{PartitionIndex, TopicId};
use crate::wire::fetch::{FetchResponse, ForgottenTopic, RequestPartition, RequestTopic};
use crate::wire::{ErrorCode, FetchRequest};

/// The epoch of a request that begins a session, and ends the one that it names.
const BEGIN: i32 = 0;

/// The id that stands for no session.
const NONE: i32 = 0;

/// A partition, identified by topic id as in requests: a topic that is created again under the same
/// name is another topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartitionKey {
    pub(super) topic: TopicId,
    pub(super) index: PartitionIndex,
}

/// The positions of the partitions to fetch.
pub(super) type Positions = BTreeMap<PartitionKey, FollowerPosition>;

/// A session with a leader. Until the leader has begun one, each request asks for it.
#[derive(Debug, Default)]
pub(super) struct FetchSession {
    id: i32,
    /// The epoch of the next request.
    epoch: i32,
    /// The positions that the leader knows.
    known: Positions,
}

impl FetchSession {
    /// The next request, for exactly these partitions. The caller adds the identity of the follower
    /// and the limits.
    pub(super) fn request(&mut self, wanted: &Positions, partition_max: ByteSize) -> FetchRequest {
        if self.epoch == BEGIN {
            self.known.clear();
        }
        let forgotten = self.known.keys().filter(|key| !wanted.contains_key(key));
        let forgotten_topics = forgotten_topics(forgotten);
        let is_news = |(key, position): &(_, _)| self.known.get(*key) != Some(*position);
        let changed: Vec<_> = wanted.iter().filter(is_news).collect();
        let topics = topics(changed.iter().copied(), partition_max);
        // Update in place instead of copying the whole map: thousands of replicas may be idle.
        self.known.retain(|key, _| wanted.contains_key(key));
        self.known.extend(changed);
        FetchRequest {
            session_id: self.id,
            session_epoch: self.epoch,
            topics,
            forgotten_topics,
            ..FetchRequest::default()
        }
    }

    /// Takes the session's part of an answer.
    ///
    /// # Errors
    /// The error of the whole answer. The next request begins a new session.
    pub(super) fn answered(&mut self, answer: &FetchResponse) -> Result<(), ErrorCode> {
        match answer.error_code {
            ErrorCode::None => {}
            ErrorCode::FetchSessionIdNotFound => {
                *self = Self::default();
                return Err(answer.error_code);
            }
            code => {
                self.restart();
                return Err(code);
            }
        }
        let is_first = self.epoch == BEGIN;
        if is_first {
            self.id = answer.session_id;
        }
        if self.id == NONE {
            // The leader has no room for a session: every request names everything.
            self.epoch = BEGIN;
        } else if self.id == answer.session_id {
            self.epoch = self.epoch.checked_add(1).unwrap_or(BEGIN + 1);
        } else {
            self.restart();
        }
        Ok(())
    }

    /// Begins a new session with the next request. An answer was lost, so the positions that the
    /// leader knows are uncertain. The request names the old session, so that the leader need not
    /// keep it.
    pub(super) fn restart(&mut self) {
        self.epoch = BEGIN;
    }

    /// The position to which an answer for a partition refers; `None` if it was not asked for.
    pub(super) fn position(&self, key: &PartitionKey) -> Option<&FollowerPosition> {
        self.known.get(key)
    }
}

fn topics<'a>(
    partitions: impl Iterator<Item = (&'a PartitionKey, &'a FollowerPosition)>,
    partition_max: ByteSize,
) -> Vec<RequestTopic> {
    let mut topics: Vec<RequestTopic> = Vec::new();
    for (key, FollowerPosition { position, log_start, .. }) in partitions {
        let request = RequestPartition {
            partition: key.index.0,
            current_leader_epoch: position.epoch.0,
            fetch_offset: position.offset.get(),
            last_fetched_epoch: position.last_epoch.0,
            log_start_offset: log_start.get(),
            partition_max_bytes: in_request(partition_max),
            flushed_offset: position.flushed.get(),
            floor_offset: position.floor.offset.get(),
            keeps_floor: position.floor.is_kept,
            ..RequestPartition::default()
        };
        match topics.last_mut() {
            Some(topic) if topic.topic_id == key.topic => topic.partitions.push(request),
            _ => topics.push(RequestTopic {
                topic_id: key.topic,
                partitions: vec![request],
                ..RequestTopic::default()
            }),
        }
    }
    topics
}

fn forgotten_topics<'a>(keys: impl Iterator<Item = &'a PartitionKey>) -> Vec<ForgottenTopic> {
    let mut topics: Vec<ForgottenTopic> = Vec::new();
    for key in keys {
        match topics.last_mut() {
            Some(topic) if topic.topic_id == key.topic => topic.partitions.push(key.index.0),
            _ => topics.push(ForgottenTopic {
                topic_id: key.topic,
                partitions: vec![key.index.0],
                ..ForgottenTopic::default()
            }),
        }
    }
    topics
}

/// A size as requests encode it.
pub(super) fn in_request(size: ByteSize) -> i32 {
    i32::try_from(size.0).unwrap_or(i32::MAX)
}
