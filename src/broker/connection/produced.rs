//! A produce request that has been appended and waits until it may be answered.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::broker::context::{Session, Shared};
use crate::broker::dispatch::Unanswerable;
use crate::broker::errors::Refusal;
use crate::replication::{Acks, Partition, Target};
use crate::storage::Appended;
use crate::types::{Offset, Timestamp};
use crate::wire::produce::{
    Partition as PartitionAnswer, ProduceRequest, ProduceResponse, RecordError, Topic,
};
use crate::wire::{ErrorCode, encode_response};

/// A produce request on its way to its answer.
#[derive(Debug)]
pub(crate) struct Produced {
    /// What the answer repeats.
    pub(crate) correlation_id: i32,
    /// The version of the request.
    pub(crate) version: i16,
    /// When to answer.
    pub(crate) acks: Acks,
    /// On the monotonic clock: what is not covered then is answered as timed out.
    pub(crate) deadline: Duration,
    /// One per partition, in the order of the request.
    pub(crate) parts: Vec<Part>,
}

/// One partition of a produce request.
#[derive(Debug)]
pub(crate) struct Part {
    /// The topic, as the client wrote it.
    pub(crate) topic: Arc<str>,
    /// The partition's number, as the client wrote it.
    pub(crate) index: i32,
    /// What became of the batch.
    pub(crate) outcome: Outcome,
}

/// What became of a batch.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was not looked at yet.
    Unknown,
    /// It was not appended, or nothing can be promised of it.
    Refused(Refusal),
    /// It was appended, or had been before.
    Appended {
        /// To which partition.
        partition: Arc<Partition>,
        /// What must come true before the answer.
        target: Target,
        /// Where it lies.
        appended: Appended,
    },
}

impl Produced {
    /// Whether the request can be answered now. What will never come true is refused here.
    pub(crate) fn is_settled(&mut self) -> bool {
        self.parts.iter_mut().all(Part::is_settled)
    }

    /// Waits until the request can be answered, its time is up, or nobody waits for the answer.
    pub(crate) async fn settle(&mut self, shared: &Shared, session: &Session) {
        let left = self.deadline.saturating_sub(shared.clock.monotonic());
        let covered = async {
            for part in &mut self.parts {
                part.covered().await;
            }
        };
        tokio::select! {
            done = timeout(left, covered) => {
                if done.is_err() {
                    self.refuse_unsettled(ErrorCode::RequestTimedOut);
                }
            }
            () = session.gone.cancelled() => self.refuse_unsettled(ErrorCode::RequestTimedOut),
        }
    }

    fn refuse_unsettled(&mut self, code: ErrorCode) {
        for part in &mut self.parts {
            if !part.is_settled() {
                part.outcome = Outcome::Refused(Refusal::of(code));
            }
        }
    }

    /// The answer as a frame; `None` where none is expected.
    ///
    /// # Errors
    /// With `acks=0` an error can be told only by closing the connection.
    pub(crate) fn into_answer(self) -> Result<Option<Bytes>, Unanswerable> {
        if self.acks == Acks::None {
            let refused = self.parts.into_iter().find_map(|part| match part.outcome {
                Outcome::Refused(refusal) => Some(refusal.to_string()),
                _ => None,
            });
            return refused.map_or(Ok(None), |r| Err(Unanswerable::RefusedSilently(r)));
        }
        let mut topics: Vec<Topic> = Vec::with_capacity(1);
        for part in self.parts {
            let answer = part.outcome.into_answer(part.index);
            match topics.last_mut() {
                Some(topic) if *topic.name == *part.topic => topic.partitions.push(answer),
                _ => topics.push(Topic { name: part.topic.to_string(), partitions: vec![answer] }),
            }
        }
        let response = ProduceResponse { topics, ..ProduceResponse::default() };
        let frame =
            encode_response::<ProduceRequest>(self.correlation_id, self.version, &response)?;
        Ok(Some(frame.into_bytes()))
    }
}

impl Part {
    fn is_settled(&mut self) -> bool {
        let Outcome::Appended { partition, target, .. } = &self.outcome else { return true };
        match partition.is_covered(*target) {
            Ok(covered) => covered,
            Err(error) => {
                self.outcome = Outcome::Refused(Refusal::from(&error));
                true
            }
        }
    }

    async fn covered(&mut self) {
        let wake = Arc::new(Notify::new());
        while let Outcome::Appended { partition, target, .. } = &self.outcome {
            // First the place, then the look: what happens in between is not missed.
            let last = Offset::new(target.next_offset.get() - 1);
            let _place = partition.wait_beyond(last, &wake);
            if self.is_settled() {
                return;
            }
            wake.notified().await;
        }
    }
}

impl Outcome {
    fn into_answer(self, index: i32) -> PartitionAnswer {
        match self {
            Self::Appended { partition, appended, .. } => PartitionAnswer {
                index,
                base_offset: appended.base_offset.get(),
                log_append_time_ms: appended.log_append_time.map_or(-1, Timestamp::millis),
                log_start_offset: partition.log_start_offset().get(),
                ..PartitionAnswer::default()
            },
            Self::Refused(refusal) => PartitionAnswer {
                index,
                error_code: refusal.code,
                base_offset: -1,
                record_errors: refusal
                    .record
                    .map(|batch_index| RecordError { batch_index, message: None })
                    .into_iter()
                    .collect(),
                error_message: refusal.message,
                ..PartitionAnswer::default()
            },
            Self::Unknown => unreachable!("every batch taken is appended or refused"),
        }
    }
}
