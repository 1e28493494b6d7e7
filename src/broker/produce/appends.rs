//! Validating and appending the produce requests of one read together.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::batch_check::{SlowBatches, check_batch, is_slow};
use super::part::Part;
use super::produced::{Produced, Request};
use crate::broker::access::LedPartitions;
use crate::broker::authorize::Operation;
use crate::broker::call::Unanswerable;
use crate::broker::errors::Refusal;
use crate::engine::produce_rules;
use crate::net::Piece;
use crate::record::{Decompressor, ProduceRules, Repacker};
use crate::replication::{Acks, Partition};
use crate::types::{PartitionIndex, Timestamp, TopicId};
use crate::wire::produce::{
    BY_ID_SINCE, PartitionView, ProduceRequest, ProduceRequestView, TopicView,
};
use crate::wire::{ApiKey, ErrorCode, Message, Reader, RequestHeader};

/// The client id that may write to internal topics, as in Kafka.
const ADMIN_CLIENT: &str = "__admin_client";

/// Produce requests gathered to be appended together, in the frames in which they arrived.
pub(crate) struct Appends<'f> {
    led: LedPartitions<'f>,
    /// The time at which gathering began, on the monotonic clock.
    began: Duration,
    produced: Produced,
    batches: Vec<Batch<'f>>,
    /// The ranges of the current request's batches within its frame.
    ranges: Vec<Option<Range<usize>>>,
}

/// The partition of a group of batches, its rules, and the time of the append.
#[derive(Clone, Copy)]
struct Destination<'p> {
    partition: &'p Partition,
    rules: &'p ProduceRules,
    now: Timestamp,
}

/// A batch to append, with the position of its result among the requests.
struct Batch<'f> {
    request: usize,
    part: usize,
    bytes: &'f mut [u8],
    check: Check,
    /// The recompressed batch, if its topic uses another codec.
    recompressed: Option<Vec<u8>>,
}

/// The state of a batch's check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// The check is still to be done.
    Open,
    /// The batch may be stored.
    Passed,
    /// The batch is refused.
    Failed,
}

/// The result of taking a frame.
pub(crate) enum Taken<'f> {
    /// The request will be appended.
    Yes,
    /// The frame is not a produce request.
    OtherApi(&'f mut [u8]),
    /// The frame is a produce request, and these of its partitions must be opened first.
    NotOpen(&'f mut [u8], Vec<Arc<Partition>>),
}

impl<'f> Appends<'f> {
    /// Creates a set without requests.
    pub(crate) fn new(led: LedPartitions<'f>) -> Self {
        Self {
            led,
            began: led.monotonic(),
            produced: Produced::default(),
            batches: Vec::new(),
            ranges: Vec::new(),
        }
    }

    /// Takes a frame if it is a produce request whose partitions are open.
    ///
    /// # Errors
    /// If the frame is malformed. Nothing of it has been taken, and the connection must be closed.
    pub(crate) fn take(&mut self, frame: &'f mut [u8]) -> Result<Taken<'f>, Unanswerable> {
        let (header, body) = RequestHeader::decode(frame)?;
        if header.api_key != ApiKey::Produce {
            return Ok(Taken::OtherApi(frame));
        }
        let first = self.produced.parts.len();
        let read = self.read(&header, body);
        let request = read.inspect_err(|_| self.produced.parts.truncate(first))?;
        let partitions =
            self.produced.parts[request.parts.clone()].iter().filter_map(Part::partition);
        let closed: Vec<_> = partitions.filter(|p| !p.is_appendable()).cloned().collect();
        if !closed.is_empty() {
            self.produced.parts.truncate(request.parts.start);
            return Ok(Taken::NotOpen(frame, closed));
        }
        self.gather(request, frame);
        Ok(Taken::Yes)
    }

    /// Takes a produce request after an attempt to open its partitions. Batches for partitions that
    /// are still not open are refused.
    pub(crate) fn take_opened(&mut self, frame: &'f mut [u8]) -> Result<(), Unanswerable> {
        let (header, body) = RequestHeader::decode(frame)?;
        let request = self.read(&header, body)?;
        self.gather(request, frame);
        Ok(())
    }

    /// Appends everything taken, with one call per partition, and returns the requests in order.
    /// Waits only for batches whose recompression takes long.
    pub(crate) async fn append(&mut self) -> Produced {
        let mut produced = std::mem::take(&mut self.produced);
        // A stable sort keeps the order of a partition's batches. The key is made of ids, not of
        // addresses, so that the decompression limit hits the same batches in every run.
        self.batches.sort_by_key(|batch| {
            let partition = produced.parts[batch.part].partition();
            partition.map(|partition| (partition.topic_id(), partition.id().partition))
        });
        let bytes = self.batches.iter().map(|batch| batch.bytes.len()).sum();
        let mut decompressor = Decompressor::for_request_of(bytes);
        let mut rest = self.batches.as_mut_slice();
        while let Some(first) = rest.first()
            && let Some(partition) = produced.parts[first.part].partition().cloned()
        {
            let its = |batch: &&Batch<'_>| {
                produced.parts[batch.part].partition().is_some_and(|p| Arc::ptr_eq(p, &partition))
            };
            let (group, others) = rest.split_at_mut(rest.iter().take_while(its).count());
            let mut now = self.led.now();
            let rules = produce_rules(&partition.config(), now);
            if let Some(packing) = rules.packing
                && group.iter().any(|batch| is_slow(batch.bytes, packing))
            {
                check_elsewhere(self.led, group, &mut produced, rules).await;
                now = self.led.now();
            }
            let to = Destination { partition: &partition, rules: &rules, now };
            append_group(to, group, &mut produced, &mut decompressor);
            rest = others;
        }
        self.batches.clear();
        produced
    }

    /// Parses a request and adds its partitions to those already gathered.
    fn read(
        &mut self,
        header: &RequestHeader<'_>,
        mut body: Reader<'_>,
    ) -> Result<Request, Unanswerable> {
        if !ProduceRequest::VERSIONS.contains(&header.version) {
            return Err(Unanswerable::not_served(header));
        }
        let view = ProduceRequestView::decode(&mut body)?;
        let acks = acks_of(&view);
        let first = self.produced.parts.len();
        self.ranges.clear();
        for part in view.partitions() {
            let part = part?;
            let found = acks.clone().and_then(|_| self.find(&part, header));
            self.produced.parts.push(Part::new(&part, found));
            self.ranges.push(part.records);
        }
        let timeout = Duration::from_millis(u64::try_from(view.timeout_ms).unwrap_or(0));
        Ok(Request {
            correlation_id: header.correlation_id,
            version: header.version,
            acks: acks.unwrap_or(Acks::Leader),
            deadline: self.began.saturating_add(timeout),
            parts: first..self.produced.parts.len(),
        })
    }

    /// The partition of a batch, if this client may write to it.
    fn find(
        &self,
        part: &PartitionView<'_>,
        header: &RequestHeader<'_>,
    ) -> Result<Arc<Partition>, Refusal> {
        let partition = self.partition(part, header.version);
        let name = partition.as_ref().map_or(part.topic.name, |found| found.id().topic.as_str());
        if !self.led.may(Operation::Write, name) {
            return Err(Refusal::of(ErrorCode::TopicAuthorizationFailed));
        }
        let partition = partition.map_err(Refusal::of)?;
        if partition.id().topic.is_internal() && header.client_id != Some(ADMIN_CLIENT) {
            return Err(Refusal::of(ErrorCode::InvalidTopicException));
        }
        Ok(partition)
    }

    fn partition(
        &self,
        part: &PartitionView<'_>,
        version: i16,
    ) -> Result<Arc<Partition>, ErrorCode> {
        let index = PartitionIndex(part.index);
        let TopicView { name, id } = part.topic;
        // Consecutive batches often belong to the same partition.
        let last = self.produced.parts.last().and_then(Part::partition);
        if version >= BY_ID_SINCE {
            let is_same = |last: &&Arc<Partition>| {
                last.topic_id() == id && last.id().partition == index && id != TopicId::NONE
            };
            if let Some(last) = last.filter(is_same) {
                return Ok(Arc::clone(last));
            }
            let topic = self.led.topic_by_id(id).ok_or(ErrorCode::UnknownTopicId)?;
            let absent = || self.led.code_without_replica(&topic, index);
            return topic.partition(index).cloned().ok_or_else(absent);
        }
        if let Some(last) = last.filter(|last| last.id().is(name, index)) {
            return Ok(Arc::clone(last));
        }
        let topic = self.led.topic(name).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        let absent = || self.led.code_without_replica(&topic, index);
        topic.partition(index).cloned().ok_or_else(absent)
    }

    /// Keeps the batches of a parsed request.
    fn gather(&mut self, request: Request, frame: &'f mut [u8]) {
        let (mut rest, mut position) = (frame, 0);
        for (part, range) in request.parts.clone().zip(self.ranges.drain(..)) {
            let Some(range) = range else {
                self.produced.parts[part].refuse(Refusal::of(ErrorCode::InvalidRecord));
                continue;
            };
            let (_, from) = rest.split_at_mut(range.start - position);
            let (bytes, behind) = from.split_at_mut(range.len());
            (rest, position) = (behind, range.end);
            if self.produced.parts[part].partition().is_some() {
                self.batches.push(Batch {
                    request: self.produced.requests.len(),
                    part,
                    bytes,
                    check: Check::Open,
                    recompressed: None,
                });
            }
        }
        self.produced.requests.push(request);
    }
}

impl Batch<'_> {
    /// Records that the batch may be stored, recompressed or as it is.
    fn pass(&mut self, recompressed: Option<Vec<u8>>) {
        self.check = Check::Passed;
        self.recompressed = recompressed;
    }

    /// Records that the batch may not be stored.
    fn refuse(&mut self, part: &mut Part, refusal: Refusal) {
        self.check = Check::Failed;
        part.refuse(refusal);
    }
}

/// Checks the batches of one partition on another thread.
async fn check_elsewhere(
    led: LedPartitions<'_>,
    group: &mut [Batch<'_>],
    produced: &mut Produced,
    rules: ProduceRules,
) {
    let mut batches = SlowBatches::new(rules);
    for batch in &*group {
        batches.push(batch.bytes, produced.requests[batch.request].version);
    }
    let results = match led.compute(move || batches.check()).await {
        Ok(results) => results,
        Err(stopping) => vec![Err(stopping); group.len()],
    };
    for (batch, result) in group.iter_mut().zip(results) {
        match result {
            Ok(bytes) => batch.pass(Some(bytes)),
            Err(refusal) => batch.refuse(&mut produced.parts[batch.part], refusal),
        }
    }
}

/// Validates batches of one partition, and appends those that pass.
fn append_group(
    to: Destination<'_>,
    group: &mut [Batch<'_>],
    produced: &mut Produced,
    decompressor: &mut Decompressor,
) {
    let Destination { partition, rules, now } = to;
    let Produced { requests, parts, .. } = produced;
    let mut repacker = Repacker::default();
    let mut acks = Acks::None;
    let mut targets = Vec::with_capacity(group.len());
    let mut batches = Vec::with_capacity(group.len());
    for batch in group {
        let request = &requests[batch.request];
        if batch.check != Check::Failed
            && request.acks == Acks::All
            && let Err(error) = partition.check_minimum()
        {
            batch.refuse(&mut parts[batch.part], (&error).into());
        }
        if batch.check == Check::Open {
            let checked =
                check_batch(batch.bytes, rules, request.version, &mut repacker, decompressor);
            match checked {
                Ok(recompressed) => batch.pass(recompressed),
                Err(refusal) => batch.refuse(&mut parts[batch.part], refusal),
            }
        }
        if batch.check == Check::Passed {
            if request.acks != Acks::None {
                acks = Acks::Leader;
            }
            targets.push((batch.part, request.acks));
            batches.push(batch.recompressed.as_deref_mut().unwrap_or(&mut *batch.bytes));
        }
    }
    let appended = partition.answerable_epoch().and_then(|epoch| {
        let outcomes = partition.append(epoch, &mut batches, acks, now)?;
        Ok((epoch, outcomes))
    });
    match appended {
        Ok((epoch, outcomes)) => {
            for ((part, acks), outcome) in targets.into_iter().zip(outcomes) {
                match outcome {
                    Ok(appended) => parts[part].append(epoch, acks, appended),
                    Err(refused) => parts[part].refuse(Refusal::from(&refused)),
                }
            }
        }
        Err(error) => targets.iter().for_each(|(part, _)| parts[*part].refuse((&error).into())),
    }
}

fn acks_of(view: &ProduceRequestView<'_>) -> Result<Acks, Refusal> {
    if view.transactional_id.is_some() {
        return Err(Refusal::of(ErrorCode::InvalidTxnState));
    }
    match view.acks {
        0 => Ok(Acks::None),
        1 => Ok(Acks::Leader),
        -1 => Ok(Acks::All),
        _ => Err(Refusal::of(ErrorCode::InvalidRequiredAcks)),
    }
}

/// Answers a produce request that could not be appended on arrival. Threads that may block on the
/// disk open its partitions first.
///
/// # Errors
/// If the connection must be closed instead.
pub(crate) async fn answer_after_opening(
    frame: &mut [u8],
    led: LedPartitions<'_>,
) -> Result<Vec<Piece>, Unanswerable> {
    let mut appends = Appends::new(led);
    if let Taken::NotOpen(frame, partitions) = appends.take(frame)? {
        for partition in partitions {
            led.lead(partition).await;
        }
        appends.take_opened(frame)?;
    }
    let mut produced = appends.append().await;
    // There is only one request, so this answers it.
    produced.settle_next(led).await;
    Ok(produced.answers(led)?.map(Piece::Bytes).into_iter().collect())
}
