//! A session: its partitions in the order in which they are served, with the values last sent.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::types::{PartitionKey, TopicId};
use crate::wire::ErrorCode;
use crate::wire::fetch::{
    ForgottenTopic, Partition as PartitionAnswer, RequestPartition, RequestTopic, Topic,
};

/// The topic as identified by requests: by name before version 13, by id from then on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TopicKey {
    name: Arc<str>,
    id: TopicId,
}

type Key = (TopicKey, i32);

impl TopicKey {
    /// The topic as identified by a request that does so by id.
    fn by_id(id: TopicId) -> Self {
        Self { name: Arc::default(), id }
    }
}

/// A partition of a session.
#[derive(Debug)]
struct Entry {
    key: Key,
    /// The partition's last request.
    request: RequestPartition,
    sent: SentValues,
}

/// The values of a partition in a response, without its records; −1 for values that were not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SentValues {
    high_watermark: i64,
    log_start_offset: i64,
}

const NOTHING: SentValues = SentValues { high_watermark: -1, log_start_offset: -1 };

/// The partitions of a session.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The partitions by their position in the serving order.
    entries: BTreeMap<u64, Entry>,
    positions: HashMap<Key, u64>,
    next_position: u64,
}

impl State {
    /// The number of partitions.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds partitions, or updates those that exist.
    pub(super) fn update(&mut self, topics: &[RequestTopic]) {
        for topic in topics {
            let key = TopicKey { name: topic.topic.as_str().into(), id: topic.topic_id };
            for request in &topic.partitions {
                self.put((key.clone(), request.partition), request);
            }
        }
    }

    fn put(&mut self, key: Key, request: &RequestPartition) {
        let known = self.positions.get(&key).and_then(|position| self.entries.get_mut(position));
        if let Some(entry) = known {
            entry.request = request.clone();
            return;
        }
        let entry = Entry { key, request: request.clone(), sent: NOTHING };
        self.push(entry);
    }

    fn push(&mut self, entry: Entry) {
        self.positions.insert(entry.key.clone(), self.next_position);
        self.entries.insert(self.next_position, entry);
        self.next_position += 1;
    }

    /// Removes partitions.
    pub(super) fn forget(&mut self, topics: &[ForgottenTopic]) {
        for topic in topics {
            let key = TopicKey { name: topic.topic.as_str().into(), id: topic.topic_id };
            for index in &topic.partitions {
                if let Some(position) = self.positions.remove(&(key.clone(), *index)) {
                    self.entries.remove(&position);
                }
            }
        }
    }

    /// All partitions as a full request, in serving order: those that have waited longest come
    /// first.
    pub(super) fn request(&self) -> Vec<RequestTopic> {
        Self::of_entries(self.entries.values())
    }

    /// Those of these partitions that are part of the session, as a request in serving order.
    pub(super) fn request_for(&self, partitions: &BTreeSet<PartitionKey>) -> Vec<RequestTopic> {
        let key = |key: &PartitionKey| (TopicKey::by_id(key.topic), key.index.0);
        let positions = partitions.iter().filter_map(|it| self.positions.get(&key(it)));
        let positions: BTreeSet<_> = positions.collect();
        Self::of_entries(positions.into_iter().filter_map(|position| self.entries.get(position)))
    }

    fn of_entries<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<RequestTopic> {
        let mut topics: Vec<RequestTopic> = Vec::new();
        let mut last: Option<&TopicKey> = None;
        for Entry { key: (key, _), request, .. } in entries {
            match topics.last_mut() {
                Some(topic) if last == Some(key) => topic.partitions.push(request.clone()),
                _ => topics.push(RequestTopic {
                    topic: key.name.to_string(),
                    topic_id: key.id,
                    partitions: vec![request.clone()],
                }),
            }
            last = Some(key);
        }
        topics
    }

    /// Records a response. With `only_news` the response keeps only the partitions with records, an
    /// error, a divergence or changed offsets.
    ///
    /// A partition that had records is served last the next time, so that a busy partition cannot
    /// use up the whole response for ever.
    pub(super) fn record_response(&mut self, topics: &mut Vec<Topic>, only_news: bool) {
        for topic in &mut *topics {
            let key = TopicKey { name: topic.topic.as_str().into(), id: topic.topic_id };
            topic.partitions.retain(|answer| {
                let is_news = self.note(&(key.clone(), answer.partition_index), answer);
                is_news || !only_news
            });
        }
        topics.retain(|topic| !topic.partitions.is_empty());
    }

    /// Records the values sent for a partition; returns true if the peer does not know them yet.
    fn note(&mut self, key: &Key, answer: &PartitionAnswer) -> bool {
        let Some(position) = self.positions.get(key).copied() else { return true };
        let Some(entry) = self.entries.get_mut(&position) else { return true };
        let failed = answer.error_code != ErrorCode::None;
        let current = SentValues {
            high_watermark: answer.high_watermark,
            log_start_offset: answer.log_start_offset,
        };
        let has_records = !answer.records.is_empty();
        let has_diverged = answer.diverging_epoch.end_offset >= 0;
        let is_news = failed || has_records || has_diverged || current != entry.sent;
        // After an error, the peer must be told when the partition works again.
        entry.sent = if failed { NOTHING } else { current };
        if has_records && let Some(entry) = self.entries.remove(&position) {
            self.push(entry);
        }
        is_news
    }
}
