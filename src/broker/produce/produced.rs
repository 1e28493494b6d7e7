//! Produce requests that have been appended and wait for their responses.
//!
//! All requests of one read are kept together in order, and so are their partitions: requests need
//! no allocations of their own, and many responses share one buffer.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use super::part::Part;
use crate::broker::access::LedPartitions;
use crate::broker::call::Unanswerable;
use crate::replication::Acks;
use crate::wire::produce::{BY_ID_SINCE, ProduceAnswers};

/// The produce requests of one read, until they are answered.
#[derive(Debug, Default)]
pub(crate) struct Produced {
    /// The requests, in order of arrival.
    pub(crate) requests: Vec<Request>,
    /// The partitions of all requests, in the same order.
    pub(crate) parts: Vec<Part>,
    /// The number of requests that have been answered.
    answered: usize,
}

/// A produce request.
#[derive(Debug)]
pub(crate) struct Request {
    /// The correlation id, repeated in the response.
    pub(crate) correlation_id: i32,
    /// The version of the request.
    pub(crate) version: i16,
    /// The acknowledgement that the producer asked for.
    pub(crate) acks: Acks,
    /// The time on the monotonic clock after which the request is answered as timed out.
    pub(crate) deadline: Duration,
    /// The request's partitions within `Produced::parts`.
    pub(crate) parts: Range<usize>,
}

impl Produced {
    /// True if every request has been answered.
    pub(crate) fn is_answered(&self) -> bool {
        self.answered == self.requests.len()
    }

    /// Encodes the responses to the next requests, as far as they are ready, into one buffer.
    /// Returns `None` if no request is ready, or no ready request expects a response.
    ///
    /// # Errors
    /// With `acks=0`, closing the connection is the only way to report an error.
    pub(crate) fn answers(
        &mut self,
        led: LedPartitions<'_>,
    ) -> Result<Option<Bytes>, Unanswerable> {
        let waiting = &self.requests[self.answered..];
        let mut answers = ProduceAnswers::with_capacity_for(waiting.len());
        for request in waiting {
            let parts = &mut self.parts[request.parts.clone()];
            if !parts.iter_mut().all(Part::is_settled) {
                break;
            }
            request.answer(parts, led, &mut answers)?;
            self.answered += 1;
        }
        let answers = answers.finish()?;
        Ok((!answers.is_empty()).then_some(answers))
    }

    /// Waits until the next request can be answered, its time is up, or the peer is gone.
    pub(crate) async fn settle_next(&mut self, led: LedPartitions<'_>) {
        let Some(request) = self.requests.get(self.answered) else { return };
        let parts = &mut self.parts[request.parts.clone()];
        let left = request.deadline.saturating_sub(led.monotonic());
        let settled = async {
            for part in &mut *parts {
                part.settle().await;
            }
        };
        let is_over = tokio::select! {
            biased;
            done = timeout(left, settled) => done.is_err(),
            () = led.gone().cancelled() => true,
        };
        if is_over {
            parts.iter_mut().for_each(Part::time_out);
        }
    }
}

impl Request {
    fn answer(
        &self,
        parts: &[Part],
        led: LedPartitions<'_>,
        answers: &mut ProduceAnswers,
    ) -> Result<(), Unanswerable> {
        if self.acks == Acks::None {
            let refused = parts.iter().find_map(Part::refusal);
            return refused.map_or(Ok(()), |r| Err(Unanswerable::RefusedSilently(r.to_string())));
        }
        // An unknown partition is identified only by the topic name or id that the request has.
        let is_same = |one: &Part, next: &Part| {
            let (one, next) = (one.topic(), next.topic());
            if self.version >= BY_ID_SINCE { one.id == next.id } else { one.name == next.name }
        };
        let leaders = parts.iter().map(|part| part.other_leader(led).leader_id);
        let endpoints = led.endpoints(leaders);
        let answer = move |part: &Part| part.answer(led);
        let topics = parts.chunk_by(is_same);
        let topics = topics.map(|parts| (parts[0].topic(), parts.iter().map(answer)));
        Ok(answers.push(self.correlation_id, self.version, topics, &endpoints)?)
    }
}
