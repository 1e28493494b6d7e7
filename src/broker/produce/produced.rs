//! Produce requests that have been appended and wait until they may be answered.
//!
//! All requests of one read stand here together, in their order, and so do their partitions: a
//! request has no memory of its own, and the answers to many are one buffer.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use super::part::Part;
use crate::broker::call::Unanswerable;
use crate::broker::context::{Session, Shared};
use crate::replication::Acks;
use crate::wire::produce::{BY_ID_SINCE, ProduceAnswers};

/// The produce requests of one read on their way to their answers.
#[derive(Debug, Default)]
pub(crate) struct Produced {
    /// In the order in which they came.
    pub(crate) requests: Vec<Request>,
    /// The partitions of all requests, in that order.
    pub(crate) parts: Vec<Part>,
    /// How many of the requests have their answers.
    answered: usize,
}

/// One of the requests.
#[derive(Debug)]
pub(crate) struct Request {
    /// What the answer repeats.
    pub(crate) correlation_id: i32,
    /// The version of the request.
    pub(crate) version: i16,
    /// When to answer.
    pub(crate) acks: Acks,
    /// On the monotonic clock: what is not covered then is answered as timed out.
    pub(crate) deadline: Duration,
    /// Which of the partitions are its own.
    pub(crate) parts: Range<usize>,
}

impl Produced {
    /// Whether every request has its answer.
    pub(crate) fn is_answered(&self) -> bool {
        self.answered == self.requests.len()
    }

    /// The answers to the next requests, as far as they can be answered now, in one buffer; `None`
    /// where there are none, or none is expected.
    ///
    /// # Errors
    /// With `acks=0` an error can be told only by closing the connection.
    pub(crate) fn answers(&mut self) -> Result<Option<Bytes>, Unanswerable> {
        let waiting = &self.requests[self.answered..];
        let mut answers = ProduceAnswers::with_room_for(waiting.len());
        for request in waiting {
            let parts = &mut self.parts[request.parts.clone()];
            if !parts.iter_mut().all(Part::is_settled) {
                break;
            }
            request.answer(parts, &mut answers)?;
            self.answered += 1;
        }
        let answers = answers.finish()?;
        Ok((!answers.is_empty()).then_some(answers))
    }

    /// Waits until the next request can be answered, its time is up, or nobody waits for its
    /// answer.
    pub(crate) async fn settle_next(&mut self, shared: &Shared, session: &Session) {
        let Some(request) = self.requests.get(self.answered) else { return };
        let parts = &mut self.parts[request.parts.clone()];
        let left = request.deadline.saturating_sub(shared.engine.clock.monotonic());
        let settled = async {
            for part in &mut *parts {
                part.settle().await;
            }
        };
        let is_over = tokio::select! {
            done = timeout(left, settled) => done.is_err(),
            () = session.gone.cancelled() => true,
        };
        if is_over {
            parts.iter_mut().for_each(Part::time_out);
        }
    }
}

impl Request {
    fn answer(&self, parts: &[Part], answers: &mut ProduceAnswers) -> Result<(), Unanswerable> {
        if self.acks == Acks::None {
            let refused = parts.iter().find_map(Part::refusal);
            return refused.map_or(Ok(()), |r| Err(Unanswerable::RefusedSilently(r.to_string())));
        }
        // A partition that is not there is known by what the request has of its topic only.
        let is_same = |one: &Part, next: &Part| {
            let (one, next) = (one.topic(), next.topic());
            if self.version >= BY_ID_SINCE { one.id == next.id } else { one.name == next.name }
        };
        let topics = parts.chunk_by(is_same);
        let topics = topics.map(|parts| (parts[0].topic(), parts.iter().map(Part::answer)));
        Ok(answers.push(self.correlation_id, self.version, topics)?)
    }
}
