//! Produce: batches are checked, appended, and answered when what `acks` asks has come true.
//!
//! ```text
//! frames of one read → Appends: checked, grouped by partition → one append each → Produced
//! Produced → waits for flushed offset or high watermark → answer
//! ```
//!
//! A batch stays where the socket put it: offsets and epoch are written into the frame, and the
//! disk gets it from there; unless its topic wants it packed by another codec.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::broker::authorize::{Operation, Resource};
use crate::broker::connection::{Outcome, Part, Produced};
use crate::broker::context::{Session, Shared};
use crate::broker::dispatch::Unanswerable;
use crate::broker::errors::Refusal;
use crate::broker::topic_settings::{first_produce_version, produce_rules};
use crate::record::{HeaderMut, Packing, Repacker, validate_produced};
use crate::replication::{Acks, Partition, Target};
use crate::types::{PartitionIndex, Timestamp};
use crate::wire::produce::{PartitionView, ProduceRequest, ProduceRequestView};
use crate::wire::{ApiKey, ErrorCode, Message, RequestHeader};

/// The client that may write to internal topics, as in Kafka.
const ADMIN_CLIENT: &str = "__admin_client";

/// Produce requests gathered to be appended together.
#[derive(Debug, Default)]
pub(crate) struct Appends {
    requests: Vec<Produced>,
    batches: Vec<Batch>,
}

/// A checked batch, and where its outcome belongs.
#[derive(Debug)]
struct Batch {
    request: usize,
    part: usize,
    partition: Arc<Partition>,
    bytes: BytesMut,
}

/// Whether a frame could be taken.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It will be appended.
    Yes,
    /// It is no produce request.
    OtherApi(BytesMut),
    /// These partitions have to be opened first.
    NotOpen(BytesMut, Vec<Arc<Partition>>),
}

/// A produce request as far as it can be judged without its records.
struct Draft {
    produced: Produced,
    parts: Vec<DraftPart>,
}

struct DraftPart {
    records: Option<Range<usize>>,
    target: Result<Arc<Partition>, Refusal>,
}

impl Appends {
    /// Takes a frame if it is a produce request whose partitions are open.
    ///
    /// # Errors
    /// When the frame is malformed: nothing of it has been taken, and the connection must end.
    pub(crate) fn take(
        &mut self,
        frame: BytesMut,
        shared: &Shared,
        session: &Session,
    ) -> Result<Taken, Unanswerable> {
        let Some(draft) = Draft::read(&frame, shared, session)? else {
            return Ok(Taken::OtherApi(frame));
        };
        let targets = draft.parts.iter().filter_map(|part| part.target.as_ref().ok());
        let closed: Vec<_> = targets.filter(|p| !p.is_appendable()).cloned().collect();
        if !closed.is_empty() {
            return Ok(Taken::NotOpen(frame, closed));
        }
        self.check(draft, frame, shared.clock.now());
        Ok(Taken::Yes)
    }

    /// Takes a produce request after its partitions were to be opened; those that could not be
    /// refuse their batches.
    pub(crate) fn take_opened(
        &mut self,
        frame: BytesMut,
        shared: &Shared,
        session: &Session,
    ) -> Result<(), Unanswerable> {
        if let Some(draft) = Draft::read(&frame, shared, session)? {
            self.check(draft, frame, shared.clock.now());
        }
        Ok(())
    }

    /// Checks the batches of a request and keeps those that may be appended.
    fn check(&mut self, draft: Draft, mut frame: BytesMut, now: Timestamp) {
        let Draft { mut produced, parts } = draft;
        // From the back, so that a cut leaves the ranges before it where they are.
        let mut cut: Vec<_> =
            parts.iter().rev().map(|part| cut(&mut frame, part.records.as_ref())).collect();
        cut.reverse();
        let mut repacker = Repacker::default();
        for (ordinal, (part, bytes)) in parts.into_iter().zip(cut).enumerate() {
            let checked = part.target.and_then(|partition| {
                let mut bytes = bytes.ok_or_else(|| Refusal::of(ErrorCode::InvalidRecord))?;
                let place = (&*partition, now, produced.version);
                if let Some(anew) = check_batch(&mut bytes, place, &mut repacker)? {
                    bytes = Bytes::from(anew).into();
                }
                Ok(Batch { request: self.requests.len(), part: ordinal, partition, bytes })
            });
            match checked {
                Ok(batch) => self.batches.push(batch),
                Err(refusal) => produced.parts[ordinal].outcome = Outcome::Refused(refusal),
            }
        }
        self.requests.push(produced);
    }

    /// Appends everything taken, each partition's batches with one call, and hands out the requests
    /// in their order.
    pub(crate) fn append(&mut self, shared: &Shared) -> Vec<Produced> {
        // A stable sort keeps the order of a partition's batches.
        self.batches.sort_by_key(|batch| Arc::as_ptr(&batch.partition));
        let same = |a: &Batch, b: &Batch| Arc::ptr_eq(&a.partition, &b.partition);
        for group in self.batches.chunk_by_mut(same) {
            append_group(group, &mut self.requests, shared.clock.now());
        }
        self.batches.clear();
        std::mem::take(&mut self.requests)
    }
}

/// Cuts the records out of the end of a frame.
fn cut(frame: &mut BytesMut, records: Option<&Range<usize>>) -> Option<BytesMut> {
    let range = records?;
    let mut bytes = frame.split_off(range.start);
    bytes.truncate(range.len());
    Some(bytes)
}

/// Appends batches that all go to one partition.
fn append_group(group: &mut [Batch], requests: &mut [Produced], now: Timestamp) {
    let Some(first) = group.first() else { return };
    let partition = Arc::clone(&first.partition);
    let awaited = group.iter().any(|batch| requests[batch.request].acks != Acks::None);
    let mut bytes: Vec<&mut [u8]> = group.iter_mut().map(|batch| batch.bytes.as_mut()).collect();
    let acks = if awaited { Acks::Leader } else { Acks::None };
    match partition.append(&mut bytes, acks, now) {
        Ok(outcomes) => {
            for (batch, outcome) in group.iter().zip(outcomes) {
                let request = &mut requests[batch.request];
                request.parts[batch.part].outcome = match outcome {
                    Ok(appended) => {
                        let target = Target {
                            epoch: partition.epoch(),
                            next_offset: appended.next_offset,
                            acks: request.acks,
                        };
                        Outcome::Appended { partition: Arc::clone(&partition), target, appended }
                    }
                    Err(refused) => Outcome::Refused(Refusal::from(&refused)),
                };
            }
        }
        Err(error) => {
            for batch in group {
                requests[batch.request].parts[batch.part].outcome =
                    Outcome::Refused(Refusal::from(&error));
            }
        }
    }
}

impl Draft {
    /// Reads a frame; `None` if it is no produce request.
    fn read(
        frame: &[u8],
        shared: &Shared,
        session: &Session,
    ) -> Result<Option<Self>, Unanswerable> {
        let (header, mut body) = RequestHeader::decode(frame)?;
        if header.api_key != ApiKey::Produce {
            return Ok(None);
        }
        if !ProduceRequest::VERSIONS.contains(&header.version) {
            return Err(Unanswerable::not_served(&header));
        }
        let view = ProduceRequestView::decode(&mut body)?;
        let acks = acks_of(&view);
        let timeout = Duration::from_millis(u64::try_from(view.timeout_ms).unwrap_or(0));
        let mut produced = Produced {
            correlation_id: header.correlation_id,
            version: header.version,
            acks: acks.as_ref().copied().unwrap_or(Acks::Leader),
            deadline: shared.clock.monotonic().saturating_add(timeout),
            parts: Vec::with_capacity(1),
        };
        let mut parts = Vec::with_capacity(1);
        for part in view.partitions() {
            let part: PartitionView<'_> = part?;
            let target = acks.clone().and_then(|_| find(&part, &header, shared, session));
            let topic = match &target {
                Ok(partition) => partition.id().topic.to_arc(),
                Err(_) => part.topic.into(),
            };
            produced.parts.push(Part { topic, index: part.index, outcome: Outcome::Unknown });
            parts.push(DraftPart { records: part.records, target });
        }
        Ok(Some(Self { produced, parts }))
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

/// The partition that a batch is for, if this client may write to it.
fn find(
    part: &PartitionView<'_>,
    header: &RequestHeader<'_>,
    shared: &Shared,
    session: &Session,
) -> Result<Arc<Partition>, Refusal> {
    if !session.may(Operation::Write, Resource::Topic(part.topic)) {
        return Err(Refusal::of(ErrorCode::TopicAuthorizationFailed));
    }
    let partition = shared
        .partitions
        .get(part.topic, PartitionIndex(part.index))
        .ok_or_else(|| Refusal::of(ErrorCode::UnknownTopicOrPartition))?;
    if partition.id().topic.is_internal() && header.client_id != Some(ADMIN_CLIENT) {
        return Err(Refusal::of(ErrorCode::InvalidTopicException));
    }
    Ok(partition)
}

/// Whether a batch may be stored in the partition; makes it what the topic asks. A batch that is
/// to be packed otherwise is returned anew.
fn check_batch(
    bytes: &mut [u8],
    (partition, now, version): (&Partition, Timestamp, i16),
    repacker: &mut Repacker,
) -> Result<Option<Vec<u8>>, Refusal> {
    let rules = produce_rules(&partition.config(), now);
    let checked = validate_produced(bytes, &rules)?;
    if checked.batch.is_transactional() {
        return Err(Refusal::of(ErrorCode::InvalidTxnState));
    }
    if version < first_produce_version(checked.batch.compression()) {
        return Err(Refusal::of(ErrorCode::UnsupportedCompressionType));
    }
    let stated = checked.batch.max_timestamp();
    let latest = checked.max_timestamp.unwrap_or(stated);
    let repack = |(packing, records): (Packing, Cow<'_, [u8]>)| {
        repacker.repack(&checked.batch, &records, (packing, rules.batch_bytes_max))
    };
    let mut anew = checked.repack.map(repack).transpose()?;
    if latest != stated
        && let Some(mut header) = HeaderMut::of_batch(anew.as_deref_mut().unwrap_or(bytes))
    {
        header.set_max_timestamp(latest);
    }
    Ok(anew)
}
