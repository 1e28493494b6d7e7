//! Reading the partitions of a fetch request, within the limits of the request.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::partition_fetch::{Asked, FetchedTopic, Outcome, PartitionFetch, Room, Unverified};
use super::replica::FetchingFollower;
use crate::broker::access::LedPartitions;
use crate::broker::isolation::Isolation;
use crate::replication::{
    Partition, Progress, ReadAnswer, Reader, ReadyList, Registration, TryRead,
};
use crate::storage::StoredBatches;
use crate::types::{Offset, PartitionKey};
use crate::wire::fetch::{FetchRequest, RequestTopic};

/// A fetch request with its partitions and the outcomes of their last reads.
#[derive(Debug)]
pub(super) struct Fetch<'r> {
    pub(super) request: &'r FetchRequest,
    /// The broker that follows; `None` for a consumer.
    follower: Option<FetchingFollower<'r>>,
    pub(super) topics: Vec<FetchedTopic>,
    /// The partitions in the order of the request.
    pub(super) partitions: Vec<PartitionFetch>,
    /// The number of bytes that the last read has found, counting those not verified yet.
    bytes: u64,
}

impl<'r> Fetch<'r> {
    /// Finds these partitions of a request, and opens their logs on first use. The positions that a
    /// follower states are counted towards the high watermark.
    pub(super) async fn open(
        led: LedPartitions<'_>,
        version: i16,
        request: &'r FetchRequest,
        topics: Vec<RequestTopic>,
        follower: Option<FetchingFollower<'r>>,
    ) -> Self {
        let count = topics.iter().map(|topic| topic.partitions.len()).sum();
        let (names, partitions) = (Vec::with_capacity(topics.len()), Vec::with_capacity(count));
        let mut fetch = Self { request, follower, topics: names, partitions, bytes: 0 };
        let isolation = Isolation::of(request.isolation_level);
        for asked in fetch.add(topics) {
            let topic = &fetch.topics[asked.topic];
            let opened = match (isolation, follower) {
                (Err(code), _) => Some(PartitionFetch::refused(asked, code)),
                (Ok(_), None) => Some(PartitionFetch::open(led, version, topic, asked).await),
                (Ok(_), Some(follower)) => follower.open(led, topic, asked).await,
            };
            fetch.partitions.extend(opened);
        }
        fetch
    }

    /// Adds topics; returns their partitions, which the caller opens.
    fn add(&mut self, topics: Vec<RequestTopic>) -> Vec<Asked> {
        let mut added = Vec::new();
        for RequestTopic { topic: name, topic_id: id, partitions } in topics {
            let topic = self.topics.len();
            self.topics.push(FetchedTopic { name, id });
            added.extend(partitions.into_iter().map(|partition| Asked { topic, partition }));
        }
        added
    }

    /// Adds the partitions of a follower's session in which something has happened meanwhile.
    /// Returns false if nothing has, in these or in those that are read already.
    pub(super) fn add_ready(&mut self) -> bool {
        let Some(follower) = self.follower else { return false };
        let mut ready = follower.exchange.take_ready();
        if ready.is_empty() {
            return false;
        }
        let known: HashSet<_> = self.partitions.iter().map(|fetch| self.key(fetch)).collect();
        for topic in &mut ready {
            let id = topic.topic_id;
            topic.partitions.retain(|it| !known.contains(&PartitionKey::new(id, it.partition)));
        }
        ready.retain(|topic| !topic.partitions.is_empty());
        for asked in self.add(ready) {
            let topic = self.topics[asked.topic].id;
            let key = PartitionKey::new(topic, asked.partition.partition);
            self.partitions.extend(follower.open_counted(&key, asked));
        }
        true
    }

    fn key(&self, fetch: &PartitionFetch) -> PartitionKey {
        let topic = self.topics[fetch.topic].id;
        PartitionKey::new(topic, fetch.request.partition)
    }

    /// The list of what happens in the partitions of a follower's session; `None` if each has to be
    /// waited for.
    pub(super) fn ready(&self) -> Option<Arc<ReadyList>> {
        self.follower?.exchange.ready().cloned()
    }

    /// Notes for a follower's session what is about to be answered. The partitions with records for
    /// which there was no room stay ready for the next fetch.
    pub(super) fn note_answers(&self) {
        let Some(follower) = self.follower else { return };
        for fetch in &self.partitions {
            let (Some(partition), Outcome::Read(answer)) = (&fetch.partition, &fetch.outcome)
            else {
                continue;
            };
            let from = Offset::checked(fetch.request.fetch_offset);
            let is_left =
                answer.records.is_none() && from.is_some_and(|from| partition.has_records_at(from));
            follower.exchange.note_answer(self.key(fetch), answer.log_start_offset, is_left);
        }
    }

    /// Reads all partitions. Bytes that are not verified yet are first verified on other threads,
    /// since that takes time and may block on the disk.
    pub(super) async fn read(&mut self, led: LedPartitions<'_>, cancel: &CancellationToken) {
        self.partitions.iter_mut().for_each(PartitionFetch::begin);
        loop {
            let unverified = self.try_read();
            led.read_ahead(self.take_read_ahead());
            if unverified.is_empty() || cancel.is_cancelled() {
                return;
            }
            let (evicted, unverified): (Vec<_>, Vec<_>) =
                unverified.into_iter().partition(|(_, read)| read.is_evicted);
            if !unverified.is_empty() {
                let reads = unverified.into_iter().map(|(_, read)| (read.partition, read.request));
                led.verify(reads.collect()).await;
            }
            for (number, read) in evicted {
                self.read_blocking(led, number, read).await;
            }
        }
    }

    /// Reads a partition on another thread, where it may block on the disk.
    async fn read_blocking(&mut self, led: LedPartitions<'_>, number: usize, read: Unverified) {
        let Unverified { partition, request, .. } = read;
        // Fails only while the broker stops: the partition is then answered without records.
        let Ok(result) = led.compute(move || partition.read(request)).await else { return };
        let result = result.map(|answer| {
            let ReadAnswer { records, high_watermark, tells_end, log_start_offset } = answer;
            let records = records.map(StoredBatches::InFile);
            let answer = ReadAnswer { records, high_watermark, tells_end, log_start_offset };
            TryRead::Done { answer, read_ahead: None }
        });
        self.partitions[number].settle(request, result);
    }

    /// Refuses the partitions that this broker may no longer show to consumers. Called when an
    /// answer is about to be written: the fetch may have waited for records or for the disk.
    pub(super) fn check_may_answer(&mut self) {
        if self.follower.is_none() {
            self.partitions.iter_mut().for_each(PartitionFetch::check_may_answer);
        }
    }

    /// Requests the hand-over of each partition whose damage stops this reader.
    pub(super) fn yield_damaged(&mut self, led: LedPartitions<'_>) {
        self.partitions.iter_mut().for_each(|fetch| fetch.yield_damaged(led));
    }

    /// Reads all partitions in turn, and returns the reads whose bytes have to be verified first,
    /// with the number of their partition. Their bytes take room too: otherwise the partitions
    /// behind them would be verified for an answer that has no room for them.
    fn try_read(&mut self) -> Vec<(usize, Unverified)> {
        let bytes_max = u64::try_from(self.request.max_bytes).unwrap_or(0);
        let reader = self.follower.map_or(Reader::Consumer, |_| Reader::Follower);
        // Only consumers stand in a gap: a follower's log continues where its leader's batches end.
        let at_once = self.request.max_wait_ms == 0 && reader == Reader::Consumer;
        let mut unverified = Vec::new();
        self.bytes = 0;
        for (number, partition) in self.partitions.iter_mut().enumerate() {
            let bytes = bytes_max.saturating_sub(self.bytes);
            let room = Room { bytes, is_untouched: self.bytes == 0, at_once };
            unverified.extend(partition.read(reader, room).map(|read| (number, read)));
            self.bytes += partition.bytes();
        }
        unverified
    }

    fn take_read_ahead(&mut self) -> Vec<(Arc<Partition>, Offset)> {
        let wanted = self.partitions.iter_mut().filter_map(|fetch| {
            let from = fetch.read_ahead.take()?;
            Some((Arc::clone(fetch.partition.as_ref()?), from))
        });
        wanted.collect()
    }

    /// Returns true if a partition was refused.
    pub(super) fn is_refused(&self) -> bool {
        self.partitions.iter().any(|fetch| matches!(fetch.outcome, Outcome::Refused(_)))
    }

    /// Returns true if the response need not wait: there are enough bytes or more are certain to
    /// follow; a partition has an error that does not pass by waiting, or diverges; or a follower
    /// has to remove records that its leader has removed.
    pub(super) fn is_due(&self) -> bool {
        let diverges = |fetch: &PartitionFetch| matches!(fetch.outcome, Outcome::Diverging { .. });
        self.bytes >= u64::try_from(self.request.min_bytes).unwrap_or(0)
            || self.partitions.iter().any(PartitionFetch::is_refused_for_good)
            || self.partitions.iter().any(diverges)
            || self.partitions.iter().any(PartitionFetch::is_cold)
            || self.follower.is_some()
                && self.partitions.iter().any(PartitionFetch::has_lost_records)
    }

    /// Registers with each partition for progress beyond the high watermark seen or, for a
    /// follower, for records at its position, flushed or not. Each registration is scanned on every
    /// append, so register once per partition, however often it is named.
    pub(super) fn register(&self, wake: &Arc<Notify>) -> Vec<Registration> {
        let mut registered = HashSet::new();
        let register = |fetch: &PartitionFetch| {
            let partition = fetch.partition.as_ref()?;
            let (awaited, seen) = match &fetch.outcome {
                _ if self.follower.is_some() => {
                    (Progress::Appended, Offset::checked(fetch.request.fetch_offset)?)
                }
                Outcome::Read(answer) => (Progress::Replicated, answer.high_watermark),
                _ => (Progress::Replicated, Offset::ZERO),
            };
            let is_new = registered.insert(Arc::as_ptr(partition));
            is_new.then(|| partition.wait_for(awaited, seen, wake))
        };
        self.partitions.iter().filter_map(register).collect()
    }
}
