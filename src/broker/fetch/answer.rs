//! `Fetch`: records up to the high watermark, sent directly from their files.
//!
//! A fetch with too little data is parked until a high watermark moves or its time is up. The
//! kernel sends larger ranges from file to socket; small ranges are copied into the response.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use crate::broker::access::LedPartitions;
use crate::broker::authorize::Operation;
use crate::broker::call::{Call, Unanswerable};
use crate::broker::errors::Refusal;
use crate::broker::fetch::FetchSessions;
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

/// The size up to which a copy costs less than another system call.
const COPIED_MAX: u64 = 32 * 1024;

/// The first version whose clients support Zstandard.
const ZSTD_FROM: i16 = 10;

/// The number of attempts to verify a response before memory counts as too short to cache it.
const CHECKS_MAX: usize = 3;

/// A read of one partition; `None` if bytes have to be verified first.
type ReadFn = fn(&Partition, ReadRequest) -> Result<Option<ReadAnswer>, PartitionError>;

/// A requested partition.
struct Wanted<'a> {
    request: &'a RequestPartition,
    partition: Result<Arc<Partition>, ErrorCode>,
}

/// The result of reading all partitions once.
#[derive(Default)]
struct Found {
    topics: Vec<Topic>,
    ranges: Vec<FileRange>,
    bytes: u64,
    refused: bool,
    /// Reads whose bytes have to be verified before they can be answered.
    unchecked: Vec<(Arc<Partition>, ReadRequest)>,
}

/// Answers a fetch request.
pub(crate) async fn answer(
    call: &Call<'_>,
    led: &LedPartitions<'_>,
    sessions: &FetchSessions,
    (header, mut body): (&RequestHeader<'_>, Reader<'_>),
) -> Result<Vec<Piece>, Unanswerable> {
    let mut request: FetchRequest = header.decode_body(&mut body)?;
    let (response, ranges) = match in_session(call, led, sessions, &mut request).await {
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

/// Fetches the request's partitions, or those of its session, and reduces the response to changes.
///
/// # Errors
/// The error code of the whole response, if the request does not fit its session.
async fn in_session(
    call: &Call<'_>,
    led: &LedPartitions<'_>,
    sessions: &FetchSessions,
    request: &mut FetchRequest,
) -> Result<(FetchResponse, Vec<FileRange>), ErrorCode> {
    let exchange = sessions.begin(request, call.version, led.monotonic())?;
    let wanted = resolve(led, call.version, request).await;
    let Found { mut topics, ranges, .. } = wait_for((call, led), request, &wanted).await;
    // Partitions that are left out have no records, so ranges and response stay in step.
    let session_id = exchange.finish(&mut topics)?;
    Ok((FetchResponse { session_id, topics, ..FetchResponse::default() }, ranges))
}

/// Looks up the requested partitions and opens their logs on first use.
async fn resolve<'a>(
    led: &LedPartitions<'_>,
    version: i16,
    request: &'a FetchRequest,
) -> Vec<Vec<Wanted<'a>>> {
    let isolation = Isolation::of(request.isolation_level);
    let mut wanted = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for request in &topic.partitions {
            let partition = isolation.and_then(|_| find((led, version), topic, request.partition));
            if let Ok(partition) = &partition {
                led.open(partition).await;
            }
            partitions.push(Wanted { request, partition });
        }
        wanted.push(partitions);
    }
    wanted
}

fn find(
    (led, version): (&LedPartitions<'_>, i16),
    topic: &RequestTopic,
    index: i32,
) -> Result<Arc<Partition>, ErrorCode> {
    let (found, unknown) = if version >= 13 {
        (led.topic_by_id(topic.topic_id), ErrorCode::UnknownTopicId)
    } else {
        (led.topic(&topic.topic), ErrorCode::UnknownTopicOrPartition)
    };
    let name = found.as_ref().map_or(topic.topic.as_str(), |topic| topic.name.as_str());
    if !led.may(Operation::Read, name) {
        return Err(ErrorCode::TopicAuthorizationFailed);
    }
    let found = found.ok_or(unknown)?;
    let partition = found.partition(PartitionIndex(index));
    let partition = partition.ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if version < ZSTD_FROM && partition.config().compression_type == CompressionType::Zstd {
        return Err(ErrorCode::UnsupportedCompressionType);
    }
    Ok(Arc::clone(partition))
}

/// Reads until there are enough bytes, an error occurred, or the time is up.
async fn wait_for(
    (call, led): (&Call<'_>, &LedPartitions<'_>),
    request: &FetchRequest,
    wanted: &[Vec<Wanted<'_>>],
) -> Found {
    let enough = u64::try_from(request.min_bytes).unwrap_or(0);
    let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    let deadline = led.monotonic().saturating_add(wait);
    let mut found = read_checked((call, led), request, wanted).await;
    let wake = Arc::new(Notify::new());
    loop {
        let left = deadline.saturating_sub(led.monotonic());
        if found.bytes >= enough || found.refused || left.is_zero() {
            return found;
        }
        // Register before reading again, so that no wakeup in between is missed.
        let _registrations = park(&found, wanted, &wake);
        found = read_checked((call, led), request, wanted).await;
        if found.bytes >= enough || found.refused {
            return found;
        }
        tokio::select! {
            () = wake.notified() => {}
            () = tokio::time::sleep(left) => {}
            () = call.cancel.cancelled() => return found,
        }
        found = read_checked((call, led), request, wanted).await;
    }
}

/// Registers with each partition for progress beyond the high watermark seen. Each registration is
/// scanned on every append, so register once per partition, however often it is named.
fn park(found: &Found, wanted: &[Vec<Wanted<'_>>], wake: &Arc<Notify>) -> Vec<Registration> {
    let seen = found.topics.iter().flat_map(|topic| &topic.partitions);
    let partitions = wanted.iter().flatten().filter_map(|wanted| wanted.partition.as_ref().ok());
    let mut registered = HashSet::new();
    partitions
        .zip(seen)
        .filter(|(partition, _)| registered.insert(Arc::as_ptr(partition)))
        .map(|(partition, seen)| {
            let watermark = Offset::checked(seen.high_watermark).unwrap_or_default();
            partition.wait_beyond(watermark, wake)
        })
        .collect()
}

/// Reads the partitions. Bytes that are not verified yet are first verified on other threads, since
/// that takes time and may block on the disk.
async fn read_checked(
    (call, led): (&Call<'_>, &LedPartitions<'_>),
    request: &FetchRequest,
    wanted: &[Vec<Wanted<'_>>],
) -> Found {
    for _ in 0..CHECKS_MAX {
        let found = read(call, request, wanted, Partition::try_read);
        if found.unchecked.is_empty() || call.cancel.is_cancelled() {
            return found;
        }
        led.verify(found.unchecked).await;
    }
    // Memory is so short that verified bytes are evicted at once. They are verified again while
    // they are sent.
    read(call, request, wanted, |partition, request| partition.read_unchecked(request).map(Some))
}

fn read(
    call: &Call<'_>,
    request: &FetchRequest,
    wanted: &[Vec<Wanted<'_>>],
    read_fn: ReadFn,
) -> Found {
    let mut found = Found::default();
    for (topic, partitions) in request.topics.iter().zip(wanted) {
        let answers = partitions.iter().map(|wanted| found.add(request, wanted, read_fn)).collect();
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
    /// Reads one partition, within the request's remaining limit.
    fn add(
        &mut self,
        request: &FetchRequest,
        wanted: &Wanted<'_>,
        read_fn: ReadFn,
    ) -> PartitionAnswer {
        let room = u64::try_from(request.max_bytes).unwrap_or(0).saturating_sub(self.bytes);
        let bytes_max = u64::try_from(wanted.request.partition_max_bytes).unwrap_or(0);
        let read = ReadRequest {
            offset: wanted.request.fetch_offset,
            max_bytes: bytes_max.min(room),
            at_least_one_batch: self.bytes == 0,
            // A reader that does not wait is shown the gap. For a reader that waits it would end
            // every wait at once.
            shows_gap: request.max_wait_ms == 0,
        };
        let epoch = LeaderEpoch(wanted.request.current_leader_epoch);
        let result = match &wanted.partition {
            Ok(partition) => read_partition(partition, epoch, read, read_fn),
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
    read_fn: ReadFn,
) -> Result<Option<ReadAnswer>, Refusal> {
    let read = || {
        // Any negative epoch means "not given", as in Kafka.
        partition.check_epoch(epoch.max(LeaderEpoch::NONE))?;
        read_fn(partition, request)
    };
    read().map_err(|error: PartitionError| Refusal::from(&error))
}

/// A range as it is sent: copied if it is small and in memory, otherwise left to the kernel.
fn load(range: &FileRange) -> Result<Piece, Unanswerable> {
    if range.length > COPIED_MAX || !range.file.is_cached(range.position, range.length) {
        return Ok(Piece::File(range.clone()));
    }
    let mut bytes = vec![0; usize::try_from(range.length).unwrap_or(usize::MAX)];
    read_exact_at(range.file.as_ref(), &mut bytes, range.position)?;
    Ok(Piece::Bytes(bytes.into()))
}
