//! The answers of a leader, by the steps of `broker::produce` and `broker::fetch`.

use std::sync::Arc;
use std::time::Duration;

use streamlog::io::{Clock, FileRange, read_exact_at};
use streamlog::metadata::{Incarnation, Membership};
use streamlog::replication::{
    Acks, CountedFetch, FetchAnswer, FetchOutcome, FetchingReplica, FollowerPosition, Partition,
    PartitionError, Progress, ReadRequest, Reader, Registration, RequestedChange, Target,
};
use streamlog::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::broker::Broker;
use crate::load::{batch_of, records_in};
use crate::zoo::Bug;

/// The longest time for which a follower waits for records at its leader.
const FETCH_WAIT: Duration = Duration::from_millis(500);

/// The longest time for which a producer waits for its acknowledgement.
const PRODUCE_WAIT: Duration = Duration::from_secs(4);

/// The most bytes of a partition in an answer.
const BYTES_MAX: u64 = 2_000;

/// One producer in this many is answered late.
const LATE_ONE_IN: u64 = 32;

/// A fetch of a follower.
pub(super) struct FollowerFetch {
    pub(super) broker: BrokerId,
    pub(super) membership: Membership,
    pub(super) positions: Vec<(PartitionIndex, FollowerPosition)>,
    /// The time at which the answer before was sent.
    pub(super) follows: Option<Duration>,
}

/// The answer to a fetch.
pub(super) struct FollowerAnswers {
    /// The time at which it was sent, by the leader's clock.
    pub(super) sent: Duration,
    pub(super) partitions: Vec<FollowerAnswer>,
}

/// The answer to a follower for one partition.
pub(super) struct FollowerAnswer {
    pub(super) partition: PartitionIndex,
    pub(super) answer: FetchAnswer,
    pub(super) records: Vec<u8>,
}

/// An acknowledgement of records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) epoch: LeaderEpoch,
    pub(crate) base_offset: Offset,
}

/// Records that a consumer has been shown.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) epoch: LeaderEpoch,
    pub(crate) high_watermark: Offset,
    /// Offsets and values.
    pub(crate) records: Vec<(i64, u64)>,
}

/// A partition of a follower's fetch whose position has been counted.
struct Counted {
    partition: Arc<Partition>,
    position: FollowerPosition,
    divergence: Option<FetchOutcome>,
}

impl Broker {
    /// Counts the positions of a follower, and answers once there are records.
    pub(super) async fn answer_follower(
        self: Arc<Self>,
        fetch: FollowerFetch,
    ) -> Option<FollowerAnswers> {
        let FollowerFetch { broker, membership, positions, follows } = fetch;
        let image = self.image();
        let is_known = |known: &&Arc<streamlog::metadata::Broker>| {
            known.incarnation == membership.incarnation && known.has_key(&membership.key.to_bytes())
        };
        let Some(registered) = image.broker(broker).filter(is_known) else {
            self.world.note("fetch of an unknown incarnation", &[broker.0.into()]);
            return None;
        };
        let replica = FetchingReplica {
            broker,
            incarnation: membership.incarnation,
            registered: Some(registered.incarnation),
            follows,
        };
        let count = |(number, position)| self.count(number, position, replica);
        let counted: Vec<Counted> = positions.into_iter().filter_map(count).collect();
        let wake = Arc::new(Notify::new());
        let found = async {
            loop {
                // Registered before reading, so that no wakeup in between is missed.
                let _registrations = await_appends(&counted, &wake);
                let answers: Vec<_> = counted.iter().filter_map(Counted::answer).collect();
                let is_due = answers.len() < counted.len()
                    || answers.iter().any(|found| {
                        !found.records.is_empty() || found.answer.outcome != FetchOutcome::Records
                    });
                if is_due {
                    return answers;
                }
                wake.notified().await;
            }
        };
        let partitions = match timeout(FETCH_WAIT, found).await {
            Ok(answers) => answers,
            Err(_elapsed) => counted.iter().filter_map(Counted::answer).collect(),
        };
        Some(FollowerAnswers { sent: self.clock().monotonic(), partitions })
    }

    fn count(
        &self,
        number: PartitionIndex,
        position: FollowerPosition,
        replica: FetchingReplica,
    ) -> Option<Counted> {
        let partition = self.partition(number)?;
        partition.load().ok()?;
        let now = self.clock().monotonic();
        let counted = partition.follower_fetched(replica, &position.position, now);
        let divergence = match counted {
            Err(_) => return None,
            Ok(CountedFetch::RecordsLost) => {
                self.records_lost(number);
                return None;
            }
            Ok(CountedFetch::Fenced) => {
                self.world.note("fenced fetch", &[number.0.into(), replica.broker.0.into()]);
                return None;
            }
            Ok(CountedFetch::Diverging { epoch, end }) => {
                Some(FetchOutcome::Diverging { epoch, end })
            }
            Ok(CountedFetch::Counted { change, .. }) => {
                let epoch = position.position.epoch;
                if let Some(change) = change {
                    let partition = Arc::clone(&partition);
                    self.in_sync_changes.request(RequestedChange { partition, epoch, change });
                }
                partition.follower_begins(replica.broker, epoch, position.log_start);
                None
            }
        };
        Some(Counted { partition, position, divergence })
    }

    /// Appends values and waits until they may be acknowledged; `None` if they are refused.
    pub(crate) async fn produce(
        self: Arc<Self>,
        (number, acks): (PartitionIndex, Acks),
        values: Vec<u64>,
    ) -> Option<Acknowledged> {
        let partition = self.partition(number)?;
        if !partition.is_appendable() {
            partition.lead().ok()?;
        }
        if acks == Acks::All {
            partition.check_minimum().ok()?;
        }
        let (epoch, mut batch) = (partition.answerable_epoch().ok()?, batch_of(&values));
        let incarnation = self.incarnation();
        let now = self.clock().now();
        let appended = partition.append(epoch, &mut [&mut batch], acks, now).ok()?;
        let appended = appended.into_iter().next()?.ok()?;
        let is_early = self.world.planted.has(Bug::AcknowledgedBeforeWatermark);
        let acks = if is_early { Acks::Leader } else { acks };
        let target = Target { epoch, next_offset: appended.next_offset, acks };
        match timeout(PRODUCE_WAIT, self.settled(&partition, target)).await {
            Ok(Ok(())) if partition.epoch() == epoch => {}
            Ok(Ok(())) => self.world.note("acknowledged after the epoch", &[number.0.into()]),
            Ok(Err(_)) | Err(_) => return None,
        }
        self.answers((number, epoch), incarnation);
        Some(Acknowledged { epoch, base_offset: appended.base_offset })
    }

    /// Reads records as a consumer; `None` if it is refused.
    pub(crate) async fn read(
        self: Arc<Self>,
        number: PartitionIndex,
        offset: i64,
    ) -> Option<Shown> {
        // A request waits for its turn.
        sleep(Duration::from_millis(1)).await;
        let partition = self.partition(number)?;
        partition.load().ok()?;
        let is_beyond = self.world.planted.has(Bug::ReadBeyondWatermark);
        let reader = if is_beyond { Reader::Follower } else { Reader::Consumer };
        let answer = partition.read(request(reader, offset)).ok()?;
        partition.check_may_answer().ok()?;
        let (epoch, high_watermark) = (partition.epoch(), answer.high_watermark);
        let records = answer.records.map(|range| records_in(&bytes_of(&range)));
        if !self.metadata.lease(self.incarnation()).is_held() {
            self.world.note("answered on proof", &[number.0.into()]);
        }
        self.answers((number, epoch), self.incarnation());
        Some(Shown { epoch, high_watermark, records: records.unwrap_or_default() })
    }

    /// Waits until records may be acknowledged.
    async fn settled(
        &self,
        partition: &Arc<Partition>,
        target: Target,
    ) -> Result<(), PartitionError> {
        let wake = Arc::new(Notify::new());
        let last = Offset::new(target.next_offset.get() - 1);
        let awaited = match target.acks {
            Acks::All => Progress::Replicated,
            Acks::Leader | Acks::None => Progress::Stored,
        };
        loop {
            // Registered before checking, so that no wakeup in between is missed.
            let _registration = partition.wait_for(awaited, last, &wake);
            if partition.may_acknowledge(target)? {
                return Ok(());
            }
            wake.notified().await;
            // A thread that is awake may wait long for its turn.
            if self.world.chance(LATE_ONE_IN) {
                sleep(self.world.millis(10, 400)).await;
            }
        }
    }

    /// Notes that this broker answers a client as the leader that it was in an epoch, as an
    /// incarnation.
    fn answers(&self, term: (PartitionIndex, LeaderEpoch), incarnation: Incarnation) {
        let Incarnation(number) = incarnation;
        self.world.check(|checkers| checkers.leaders.answers(term, (self.id, number)));
    }
}

impl Counted {
    /// The answer as it is now; `None` if the partition is refused.
    fn answer(&self) -> Option<FollowerAnswer> {
        let Self { partition, position: FollowerPosition { position, .. }, divergence } = self;
        let (position, number) = (*position, partition.id().partition);
        let (high_watermark, log_start) =
            (partition.high_watermark(), partition.log_start_offset());
        let answer = |outcome, high_watermark, log_start, records| FollowerAnswer {
            partition: number,
            answer: FetchAnswer { position, outcome, high_watermark, log_start },
            records,
        };
        if let Some(outcome) = divergence {
            return Some(answer(*outcome, high_watermark, log_start, Vec::new()));
        }
        partition.check_epoch(position.epoch).ok()?;
        match partition.read(request(Reader::Follower, position.offset.get())) {
            Ok(read) => {
                let records = read.records.as_ref().map(bytes_of).unwrap_or_default();
                let (watermark, start) = (read.high_watermark, read.log_start_offset);
                Some(answer(FetchOutcome::Records, watermark, start, records))
            }
            Err(PartitionError::OffsetOutOfRange { .. }) => {
                Some(answer(FetchOutcome::OutOfRange, high_watermark, log_start, Vec::new()))
            }
            Err(_) => None,
        }
    }
}

/// Registers a fetch with its partitions for the next append to each.
fn await_appends(counted: &[Counted], wake: &Arc<Notify>) -> Vec<Registration> {
    let beyond_end = |counted: &Counted| {
        let offset = counted.position.position.offset;
        counted.partition.wait_for(Progress::Appended, offset, wake)
    };
    counted.iter().map(beyond_end).collect()
}

fn request(reader: Reader, offset: i64) -> ReadRequest {
    ReadRequest { reader, offset, max_bytes: BYTES_MAX, at_least_one_batch: true, shows_gap: false }
}

pub(crate) fn bytes_of(range: &FileRange) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
    read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
    bytes
}
