//! One partition of a produce request: its destination and its result.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::broker::access::LedPartitions;
use crate::broker::errors::Refusal;
use crate::replication::{Acks, Partition, Progress, Target};
use crate::storage::Appended;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId};
use crate::wire::produce::{Partition as Answer, PartitionView, TopicView};
use crate::wire::{ErrorCode, LeaderIdAndEpoch};

/// One partition of a produce request.
#[derive(Debug)]
pub(crate) struct Part {
    addressee: Addressee,
    outcome: Outcome,
}

/// The destination of a batch.
#[derive(Debug)]
enum Addressee {
    /// A partition of which this broker has a replica; the append fails unless it leads.
    Led(Arc<Partition>),
    /// A partition for which the request was refused at once, as the request names it.
    Named(Arc<str>, TopicId, i32),
}

/// The result of a batch.
#[derive(Debug)]
enum Outcome {
    /// The result is still open.
    Open,
    /// The batch was not appended, or is no longer certain to be replicated.
    Refused(Refusal),
    /// The batch was appended now, or earlier if it is a duplicate.
    Appended { appended: Appended, target: Target },
}

impl Part {
    /// Creates a part of a request from its partition, or from the reason why there is none.
    pub(crate) fn new(part: &PartitionView<'_>, found: Result<Arc<Partition>, Refusal>) -> Self {
        match found {
            Ok(partition) => Self { addressee: Addressee::Led(partition), outcome: Outcome::Open },
            Err(refusal) => Self {
                addressee: Addressee::Named(part.topic.name.into(), part.topic.id, part.index),
                outcome: Outcome::Refused(refusal),
            },
        }
    }

    /// The partition to which the batch is appended, if any.
    pub(crate) fn partition(&self) -> Option<&Arc<Partition>> {
        if let Addressee::Led(partition) = &self.addressee { Some(partition) } else { None }
    }

    /// Records that the batch was not appended.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.outcome = Outcome::Refused(refusal);
    }

    /// Records that the batch was appended in a leader epoch, whose progress acknowledges it
    /// according to `acks`.
    pub(crate) fn append(&mut self, epoch: LeaderEpoch, acks: Acks, appended: Appended) {
        let target = Target { epoch, next_offset: appended.next_offset, acks };
        self.outcome = Outcome::Appended { appended, target };
    }

    /// The reason why the batch was refused, if it was.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        if let Outcome::Refused(refusal) = &self.outcome { Some(refusal) } else { None }
    }

    /// Returns true if the producer can be answered now. Refuses a batch that can no longer be
    /// replicated, or not be acknowledged by this broker.
    pub(crate) fn is_settled(&mut self) -> bool {
        let (Addressee::Led(partition), Outcome::Appended { target, .. }) =
            (&self.addressee, &self.outcome)
        else {
            return true;
        };
        match partition.may_acknowledge(*target) {
            Ok(covered) => covered,
            Err(error) => {
                self.outcome = Outcome::Refused(Refusal::from(&error));
                true
            }
        }
    }

    /// Waits until the producer can be answered.
    pub(crate) async fn settle(&mut self) {
        let wake = Arc::new(Notify::new());
        while let (Addressee::Led(partition), Outcome::Appended { target, .. }) =
            (&self.addressee, &self.outcome)
        {
            // Register before checking, so that no wakeup in between is missed.
            let last = Offset::new(target.next_offset.get() - 1);
            let awaited = match target.acks {
                Acks::All => Progress::Replicated,
                Acks::Leader | Acks::None => Progress::Stored,
            };
            let _registration = partition.wait_for(awaited, last, &wake);
            if self.is_settled() {
                return;
            }
            wake.notified().await;
        }
    }

    /// Refuses the part with a timeout, unless it is settled.
    pub(crate) fn time_out(&mut self) {
        if !self.is_settled() {
            self.outcome = Outcome::Refused(Refusal::of(ErrorCode::RequestTimedOut));
        }
    }

    /// The topic, as the response names it.
    pub(crate) fn topic(&self) -> TopicView<'_> {
        match &self.addressee {
            Addressee::Led(partition) => {
                TopicView { name: partition.id().topic.as_str(), id: partition.topic_id() }
            }
            Addressee::Named(name, id, _) => TopicView { name, id: *id },
        }
    }

    /// The leader to which the client should send the batch, if the batch was refused because
    /// another broker leads the partition.
    pub(crate) fn other_leader(&self, led: LedPartitions<'_>) -> LeaderIdAndEpoch {
        let code = self.refusal().map(|refusal| refusal.code);
        if code != Some(ErrorCode::NotLeaderOrFollower) {
            return LeaderIdAndEpoch::default();
        }
        let TopicView { name, id } = self.topic();
        let index = match &self.addressee {
            Addressee::Led(partition) => partition.id().partition,
            Addressee::Named(_, _, index) => PartitionIndex(*index),
        };
        let leader = led.other_leader((name, id), index);
        leader.map_or_else(LeaderIdAndEpoch::default, LeaderIdAndEpoch::from)
    }

    /// The response for this partition.
    pub(crate) fn answer(&self, led: LedPartitions<'_>) -> Answer {
        let (index, log_start_offset) = match &self.addressee {
            Addressee::Led(led) => (led.id().partition.0, led.log_start_offset().get()),
            Addressee::Named(_, _, index) => (*index, -1),
        };
        match &self.outcome {
            Outcome::Appended { appended, .. } => Answer {
                index,
                base_offset: appended.base_offset.get(),
                log_append_time_ms: appended.log_append_time.map_or(-1, Timestamp::millis),
                log_start_offset,
                ..Answer::default()
            },
            Outcome::Refused(refusal) => Answer {
                index,
                error_code: refusal.code,
                base_offset: -1,
                record_errors: refusal.records.clone(),
                error_message: refusal.message.clone(),
                current_leader: self.other_leader(led),
                ..Answer::default()
            },
            Outcome::Open => unreachable!("every batch taken is appended or refused"),
        }
    }
}
