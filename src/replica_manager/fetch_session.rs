//! The follower's end of a fetch session with a leader (KIP-227).
//!
//! The first request of a session names all partitions with their positions. Later requests name
//! only the partitions whose positions have changed, and those to forget. A whole request states
//! that all other positions are as before; a partial one says nothing about them, so that neither
//! end has to look at thousands of idle partitions for each request.
//!
//! This module does no I/O. It turns the partitions to fetch into the next request, and keeps the
//! positions that the leader knows, to which its answers refer.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::ByteSize;
use crate::replication::FollowerPosition;
use crate::types::PartitionKey;
use crate::wire::fetch::{FetchResponse, ForgottenTopic, RequestPartition, RequestTopic};
use crate::wire::{ErrorCode, FetchRequest};

/// The epoch of a request that begins a session, and ends the one that it names.
const BEGIN: i32 = 0;

/// The id that stands for no session.
const NONE: i32 = 0;

/// The longest time between two whole requests of a session, unless there is nothing to fetch.
pub(super) const WHOLE_EVERY: Duration = Duration::from_millis(250);

/// The positions of the partitions to fetch.
type Positions = BTreeMap<PartitionKey, FollowerPosition>;

/// The positions of the partitions to fetch, and which of them have changed since the last request.
#[derive(Debug, Default)]
pub(super) struct WantedPositions {
    positions: Positions,
    changed: BTreeMap<PartitionKey, Change>,
}

/// The change of a position since the last request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// There is another position.
    Moved,
    /// There was none for a while. If there is one again, the leader has to be told, although it
    /// may be as before: its last answer may not have been taken.
    Removed,
}

/// The partitions whose positions a request states to the leader, and for which this follower
/// therefore asks it for records (rule R6f in `replication`'s `rules.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All partitions of the session.
    Whole,
    /// Those whose positions have changed.
    Changes,
}

impl WantedPositions {
    pub(super) fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    pub(super) fn insert(&mut self, key: PartitionKey, position: FollowerPosition) {
        self.positions.insert(key, position);
        self.changed.entry(key).or_insert(Change::Moved);
    }

    pub(super) fn remove(&mut self, key: &PartitionKey) {
        if self.positions.remove(key).is_some() {
            self.changed.insert(*key, Change::Removed);
        }
    }

    /// Keeps those partitions of a scope for which `keeps` returns true, and all others.
    pub(super) fn retain(
        &mut self,
        scope: Scope,
        keeps: impl Fn(&PartitionKey, &FollowerPosition) -> bool,
    ) {
        let drops = |key: &PartitionKey, known: &FollowerPosition| !keeps(key, known);
        let dropped: Vec<PartitionKey> = match scope {
            Scope::Whole => {
                let dropped = self.positions.iter().filter(|(key, known)| drops(key, known));
                dropped.map(|(key, _)| *key).collect()
            }
            Scope::Changes => {
                let known = |key| Some((key, self.positions.get(key)?));
                let changed = self.changed.keys().filter_map(known);
                changed.filter(|(key, known)| drops(key, known)).map(|(key, _)| *key).collect()
            }
        };
        for key in &dropped {
            self.remove(key);
        }
    }
}

/// A session with a leader. Until the leader has begun one, each request asks for it.
#[derive(Debug)]
pub(super) struct FetchSession {
    id: i32,
    /// The epoch of the next request.
    epoch: i32,
    /// The time of the last whole request, and the longest time until the next.
    whole_at: Duration,
    whole_every: Duration,
    /// The positions that the leader knows.
    known: Positions,
}

impl FetchSession {
    /// No session yet. Its whole requests wait at the leader for `wait_max`, if nothing happens.
    pub(super) fn new(wait_max: Duration) -> Self {
        Self {
            id: NONE,
            epoch: BEGIN,
            whole_at: Duration::ZERO,
            whole_every: WHOLE_EVERY.min(wait_max),
            known: Positions::new(),
        }
    }

    /// The scope of the next request, at the monotonic time `now`.
    pub(super) fn scope(&self, now: Duration) -> Scope {
        let is_whole = self.epoch == BEGIN || self.until_whole(now).is_zero();
        if is_whole { Scope::Whole } else { Scope::Changes }
    }

    /// The time from `now` until the next whole request.
    pub(super) fn until_whole(&self, now: Duration) -> Duration {
        (self.whole_at + self.whole_every).saturating_sub(now)
    }

    /// The next request, of this scope, for exactly these partitions. The caller adds the identity
    /// of the follower and the limits.
    pub(super) fn request(
        &mut self,
        wanted: &mut WantedPositions,
        (scope, now): (Scope, Duration),
        partition_max: ByteSize,
    ) -> FetchRequest {
        let mut changed = std::mem::take(&mut wanted.changed);
        if self.epoch == BEGIN {
            assert_eq!(scope, Scope::Whole, "a session begins with all partitions");
            self.known.clear();
            changed = wanted.positions.keys().map(|key| (*key, Change::Moved)).collect();
        }
        if scope == Scope::Whole {
            self.whole_at = now;
        }
        let (mut named, mut forgotten) = (Vec::new(), Vec::new());
        for (key, change) in changed {
            let Some(position) = wanted.positions.get(&key) else {
                forgotten.extend(self.known.remove(&key).map(|_| key));
                continue;
            };
            let before = self.known.insert(key, *position);
            if change == Change::Removed || before != Some(*position) {
                named.push((key, *position));
            }
        }
        FetchRequest {
            session_id: self.id,
            session_epoch: self.epoch,
            topics: topics(&named, partition_max),
            forgotten_topics: forgotten_topics(&forgotten),
            is_partial: scope == Scope::Changes,
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
                (self.id, self.epoch) = (NONE, BEGIN);
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

fn topics(
    partitions: &[(PartitionKey, FollowerPosition)],
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

fn forgotten_topics(keys: &[PartitionKey]) -> Vec<ForgottenTopic> {
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
