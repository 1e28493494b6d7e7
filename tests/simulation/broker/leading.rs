//! The answers of a leader to clients, by the steps of `broker::produce` and `broker::fetch`.

use std::sync::Arc;
use std::time::Duration;

use streamlog::io::{Clock, FileRange, read_exact_at};
use streamlog::metadata::Incarnation;
use streamlog::replication::{
    Acks, NotLeading, Partition, PartitionError, Progress, ReadRequest, Reader, Target,
};
use streamlog::types::{LeaderEpoch, Offset, PartitionIndex};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::broker::Broker;
use crate::checkers::Violation;
use crate::ensemble::index;
use crate::load::records_in;
use crate::zoo::Bug;

/// The longest time for which a producer waits for its acknowledgement.
const PRODUCE_WAIT: Duration = Duration::from_secs(4);

/// The most bytes of a partition in an answer.
const BYTES_MAX: u64 = 2_000;

/// One producer in this many is answered late.
const LATE_ONE_IN: u64 = 32;

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
    /// `None` if the leader does not know that no other replica has more.
    pub(crate) high_watermark: Option<Offset>,
    /// Offsets and values.
    pub(crate) records: Vec<(i64, u64)>,
}

impl Broker {
    /// Appends a batch and waits until it may be acknowledged; `None` if it is refused.
    pub(crate) async fn produce(
        self: Arc<Self>,
        (number, acks): (PartitionIndex, Acks),
        mut batch: Vec<u8>,
    ) -> Option<Acknowledged> {
        let partition = self.partition(number)?;
        if !partition.is_appendable() {
            partition.lead().ok()?;
        }
        if acks == Acks::All {
            partition.check_minimum().ok()?;
        }
        let epoch = partition.answerable_epoch().inspect_err(|error| {
            if matches!(error, PartitionError::NotLeader(NotLeading::NoLease)) {
                self.world.note("lease ran out", &[index(self.machine)]);
            }
        });
        let epoch = epoch.ok()?;
        let incarnation = self.incarnation();
        let now = self.clock().now();
        let appended = partition.append(epoch, &mut [&mut batch], acks, now).ok()?;
        let appended = appended.into_iter().next()?.inspect_err(|error| {
            let facts = format!("{number:?}: {error}");
            self.world.check(|_| Err::<(), _>(Violation::new("producers are remembered", facts)));
        });
        let appended = appended.ok()?;
        if appended.is_duplicate {
            self.world.note("repetition recognized", &[number.0.into()]);
        }
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
        let epoch = partition.epoch();
        let high_watermark = answer.tells_end.then_some(answer.high_watermark);
        let records = answer.records.map(|range| records_in(&bytes_of(&range)));
        if !self.metadata().lease(self.incarnation()).is_held() {
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

fn request(reader: Reader, offset: i64) -> ReadRequest {
    ReadRequest { reader, offset, max_bytes: BYTES_MAX, at_least_one_batch: true, shows_gap: false }
}

pub(crate) fn bytes_of(range: &FileRange) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
    read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
    bytes
}
