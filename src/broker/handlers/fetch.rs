//! Fetch: records as far as consumers may see, from the files they lie in.
//!
//! A fetch with nothing to send is parked until a watermark moves or its time is up. Larger ranges
//! go from the file to the socket by the kernel; small ones are read into the answer.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::{Call, Unanswerable};
use crate::broker::errors::Refusal;
use crate::broker::isolation::Isolation;
use crate::io::{FileRange, read_exact_at};
use crate::net::Piece;
use crate::replication::{Partition, PartitionError, ReadAnswer, ReadRequest, Registration};
use crate::storage::CompressionType;
use crate::types::{LeaderEpoch, Offset, PartitionIndex};
use crate::wire::fetch::{
    FetchRequest, FetchResponse, Partition as PartitionAnswer, RequestPartition, RequestTopic,
    Topic,
};
use crate::wire::{
    ErrorCode, Piece as FramePiece, Reader, Records, RequestHeader, encode_response,
};

/// Up to this many bytes a copy costs less than another system call.
const COPIED_MAX: u64 = 32 * 1024;

/// The first version whose clients know Zstandard.
const ZSTD_FROM: i16 = 10;

/// How often an answer is checked before it counts that memory does not hold it.
const CHECKS_MAX: usize = 3;

/// A read of one partition; `None` when something has to be checked first.
type Look = fn(&Partition, ReadRequest) -> Result<Option<ReadAnswer>, PartitionError>;

/// A partition as it was asked for.
struct Wanted<'a> {
    request: &'a RequestPartition,
    partition: Result<Arc<Partition>, ErrorCode>,
}

/// What one look at the partitions brought.
#[derive(Default)]
struct Found {
    topics: Vec<Topic>,
    ranges: Vec<FileRange>,
    bytes: u64,
    refused: bool,
    /// What has to be read and checked before it can be answered.
    unchecked: Vec<(Arc<Partition>, ReadRequest)>,
}

/// Answers a fetch.
pub(crate) async fn answer(
    call: &Call<'_>,
    header: &RequestHeader<'_>,
    mut body: Reader<'_>,
) -> Result<Vec<Piece>, Unanswerable> {
    let mut request: FetchRequest = header.decode_body(&mut body)?;
    let (response, ranges) = match in_session(call, &mut request).await {
        Ok(answer) => answer,
        Err(error_code) => (FetchResponse { error_code, ..FetchResponse::default() }, Vec::new()),
    };
    let frame = encode_response::<FetchRequest>(header.correlation_id, header.version, &response)?;
    let mut pieces = Vec::new();
    for piece in frame.pieces() {
        pieces.push(match piece {
            FramePiece::Bytes(bytes) => Piece::Bytes(bytes),
            FramePiece::Records(ordinal) => load(&ranges[ordinal])?,
        });
    }
    Ok(pieces)
}

/// Fetches what the request asks for, or its session stands for, and says what is new of it.
///
/// # Errors
/// With the code for the whole answer when the session is not what the request takes it for.
async fn in_session(
    call: &Call<'_>,
    request: &mut FetchRequest,
) -> Result<(FetchResponse, Vec<FileRange>), ErrorCode> {
    let now = call.shared.engine.clock.monotonic();
    let turn = call.shared.fetch_sessions.begin(request, call.version, now)?;
    let wanted = resolve(call, request).await;
    let Found { mut topics, ranges, .. } = wait_for(call, request, &wanted).await;
    // What it leaves out has no records, so the ranges stay in step with the answer.
    let session_id = turn.finish(&mut topics)?;
    Ok((FetchResponse { session_id, topics, ..FetchResponse::default() }, ranges))
}

/// Finds the partitions asked for and opens those that were not used since the start.
async fn resolve<'a>(call: &Call<'_>, request: &'a FetchRequest) -> Vec<Vec<Wanted<'a>>> {
    let isolation = Isolation::of(request.isolation_level);
    let mut wanted = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for request in &topic.partitions {
            let partition = isolation.and_then(|_| find(call, topic, request.partition));
            if let Ok(partition) = &partition {
                call.open(partition).await;
            }
            partitions.push(Wanted { request, partition });
        }
        wanted.push(partitions);
    }
    wanted
}

fn find(call: &Call<'_>, topic: &RequestTopic, index: i32) -> Result<Arc<Partition>, ErrorCode> {
    let (found, unknown) = if call.version >= 13 {
        (call.shared.engine.partitions.topic_by_id(topic.topic_id), ErrorCode::UnknownTopicId)
    } else {
        (call.shared.engine.partitions.topic(&topic.topic), ErrorCode::UnknownTopicOrPartition)
    };
    let name = found.as_ref().map_or(topic.topic.as_str(), |topic| topic.name.as_str());
    if !call.session.may(Operation::Read, Resource::Topic(name)) {
        return Err(ErrorCode::TopicAuthorizationFailed);
    }
    let found = found.ok_or(unknown)?;
    let partition = found.partition(PartitionIndex(index));
    let partition = partition.ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if call.version < ZSTD_FROM && partition.config().compression_type == CompressionType::Zstd {
        return Err(ErrorCode::UnsupportedCompressionType);
    }
    Ok(Arc::clone(partition))
}

/// Looks until there is enough, something is wrong, or the time is up.
async fn wait_for(call: &Call<'_>, request: &FetchRequest, wanted: &[Vec<Wanted<'_>>]) -> Found {
    let enough = u64::try_from(request.min_bytes).unwrap_or(0);
    let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    let deadline = call.shared.engine.clock.monotonic().saturating_add(wait);
    let mut found = read_checked(call, request, wanted).await;
    let wake = Arc::new(Notify::new());
    loop {
        let left = deadline.saturating_sub(call.shared.engine.clock.monotonic());
        if found.bytes >= enough || found.refused || left.is_zero() {
            return found;
        }
        // First the places, then another look: what happens in between is not missed.
        let _places = park(&found, wanted, &wake);
        found = read_checked(call, request, wanted).await;
        if found.bytes >= enough || found.refused {
            return found;
        }
        tokio::select! {
            () = wake.notified() => {}
            () = tokio::time::sleep(left) => {}
            () = call.patience.cancelled() => return found,
        }
        found = read_checked(call, request, wanted).await;
    }
}

/// Takes a place at each partition, beyond the watermark that was seen. One place, however often a
/// partition is named: who has many makes all others look through them at each append.
fn park(found: &Found, wanted: &[Vec<Wanted<'_>>], wake: &Arc<Notify>) -> Vec<Registration> {
    let seen = found.topics.iter().flat_map(|topic| &topic.partitions);
    let partitions = wanted.iter().flatten().filter_map(|wanted| wanted.partition.as_ref().ok());
    let mut placed = HashSet::new();
    partitions
        .zip(seen)
        .filter(|(partition, _)| placed.insert(Arc::as_ptr(partition)))
        .map(|(partition, seen)| {
            let watermark = Offset::checked(seen.high_watermark).unwrap_or_default();
            partition.wait_beyond(watermark, wake)
        })
        .collect()
}

/// Reads the partitions, and has checked first what is not vouched for: on other threads, for it
/// takes long and may wait for the disk.
async fn read_checked(
    call: &Call<'_>,
    request: &FetchRequest,
    wanted: &[Vec<Wanted<'_>>],
) -> Found {
    for _ in 0..CHECKS_MAX {
        let found = read(call, request, wanted, Partition::look);
        if found.unchecked.is_empty() || call.patience.is_cancelled() {
            return found;
        }
        call.shared.engine.control.check(found.unchecked).await;
    }
    // Memory is so short that what was checked is gone again. It is checked once more as it is
    // sent.
    read(call, request, wanted, |partition, request| partition.read_unchecked(request).map(Some))
}

fn read(call: &Call<'_>, request: &FetchRequest, wanted: &[Vec<Wanted<'_>>], look: Look) -> Found {
    let mut found = Found::default();
    for (topic, partitions) in request.topics.iter().zip(wanted) {
        let answers = partitions.iter().map(|wanted| found.look(request, wanted, look)).collect();
        found.topics.push(Topic {
            topic: topic.topic.clone(),
            topic_id: topic.topic_id,
            partitions: answers,
        });
    }
    if found.refused {
        tracing::debug!(peer = %call.session.peer, "a fetch is answered with errors");
    }
    found
}

impl Found {
    /// Reads one partition, as far as the request still has room.
    fn look(&mut self, request: &FetchRequest, wanted: &Wanted<'_>, look: Look) -> PartitionAnswer {
        let room = u64::try_from(request.max_bytes).unwrap_or(0).saturating_sub(self.bytes);
        let bytes_max = u64::try_from(wanted.request.partition_max_bytes).unwrap_or(0);
        let read = ReadRequest {
            offset: wanted.request.fetch_offset,
            max_bytes: bytes_max.min(room),
            at_least_one_batch: self.bytes == 0,
            // Who does not wait asks whether there is more; who waits would not rest any more.
            shows_gap: request.max_wait_ms == 0,
        };
        let epoch = LeaderEpoch(wanted.request.current_leader_epoch);
        let result = match &wanted.partition {
            Ok(partition) => read_partition(partition, epoch, read, look),
            Err(code) => Err(Refusal::of(*code)),
        };
        let mut answer = PartitionAnswer {
            partition_index: wanted.request.partition,
            high_watermark: -1,
            // No records are an empty set, not null: librdkafka takes null for damage.
            records: Records::Bytes(Bytes::new()),
            ..PartitionAnswer::default()
        };
        match result {
            Ok(None) => self.unchecked.extend(wanted.partition.iter().cloned().map(|p| (p, read))),
            Ok(Some(read)) => {
                answer.high_watermark = read.high_watermark.get();
                answer.last_stable_offset = read.high_watermark.get();
                answer.log_start_offset = read.log_start_offset.get();
                if let Some(range) = read.records {
                    answer.records = self.take(range);
                }
            }
            Err(refusal) => {
                self.refused = true;
                answer.error_code = refusal.code;
            }
        }
        let isolation = Isolation::of(request.isolation_level);
        if isolation == Ok(Isolation::ReadCommitted) || answer.error_code != ErrorCode::None {
            answer.aborted_transactions = Some(Vec::new());
        }
        answer
    }

    fn take(&mut self, range: FileRange) -> Records {
        let length = range.length;
        self.bytes += length;
        self.ranges.push(range);
        Records::Elsewhere(usize::try_from(length).unwrap_or(usize::MAX))
    }
}

fn read_partition(
    partition: &Partition,
    epoch: LeaderEpoch,
    request: ReadRequest,
    look: Look,
) -> Result<Option<ReadAnswer>, Refusal> {
    let read = || {
        // Whatever is no epoch says nothing here, as in Kafka.
        partition.check_epoch(epoch.max(LeaderEpoch::NONE))?;
        look(partition, request)
    };
    read().map_err(|error: PartitionError| Refusal::from(&error))
}

/// A range as it is sent: copied when it is small and in memory, else left to the kernel.
fn load(range: &FileRange) -> Result<Piece, Unanswerable> {
    if range.length > COPIED_MAX || !range.file.is_cached(range.position, range.length) {
        return Ok(Piece::File(range.clone()));
    }
    let mut bytes = vec![0; usize::try_from(range.length).unwrap_or(usize::MAX)];
    read_exact_at(range.file.as_ref(), &mut bytes, range.position)?;
    Ok(Piece::Bytes(bytes.into()))
}
