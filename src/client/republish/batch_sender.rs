//! Sending batches to one partition in order, several in flight, until each is stored.
//!
//! A leader without state for a producer accepts any sequence number as the first, so only a single
//! batch is in flight until one was acknowledged. After a failure every unacknowledged batch is
//! sent again in order, and the leader recognises stored batches by their sequence numbers. At most
//! five are in flight, because a leader remembers the last five batches of a producer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::client::ClientError;
use crate::client::cluster::Brokers;
use crate::client::error::Remedy;
use crate::client::producer::outcome;
use crate::link::{Backoff, Connection, Reply};
use crate::types::TopicPartition;
use crate::wire::produce::{RequestPartition, RequestTopic};
use crate::wire::{ErrorCode, ProduceRequest, Records};

/// The number of recent batches that a leader recognises as duplicates.
const IN_FLIGHT_MAX: usize = 5;

/// The sender to one partition.
#[derive(Debug)]
pub(super) struct BatchSender {
    brokers: Arc<Brokers>,
    target: TopicPartition,
    connection: Option<Connection>,
    /// Batches to send after the batches in flight, in order.
    waiting: VecDeque<Bytes>,
    in_flight: VecDeque<InFlight>,
    /// True if the leader has acknowledged a batch since the last failure.
    is_begun: bool,
    backoff: Backoff,
    /// The time for which a batch is retried.
    patience: Duration,
    deadline: Duration,
}

#[derive(Debug)]
struct InFlight {
    batch: Bytes,
    reply: Result<Reply<ProduceRequest>, ClientError>,
}

impl BatchSender {
    /// A sender that has not connected yet.
    pub(super) fn new(brokers: Arc<Brokers>, target: TopicPartition, patience: Duration) -> Self {
        Self {
            target,
            connection: None,
            waiting: VecDeque::new(),
            in_flight: VecDeque::new(),
            is_begun: false,
            backoff: brokers.backoff(),
            patience,
            deadline: brokers.clock().monotonic().saturating_add(patience),
            brokers,
        }
    }

    /// Queues a batch and returns after the first attempt to send it. A failed attempt is repeated
    /// by later calls.
    pub(super) async fn send(&mut self, batch: Bytes) -> Result<(), ClientError> {
        self.waiting.push_back(batch);
        loop {
            self.send_waiting().await;
            if self.waiting.is_empty() {
                return Ok(());
            }
            self.wait_first().await?;
        }
    }

    /// Waits until all batches are stored.
    pub(super) async fn finish(mut self) -> Result<(), ClientError> {
        while !self.in_flight.is_empty() || !self.waiting.is_empty() {
            self.wait_first().await?;
            self.send_waiting().await;
        }
        Ok(())
    }

    async fn send_waiting(&mut self) {
        let most = if self.is_begun { IN_FLIGHT_MAX } else { 1 };
        while self.in_flight.len() < most
            && let Some(batch) = self.waiting.pop_front()
        {
            let reply = self.request(&batch).await;
            self.in_flight.push_back(InFlight { batch, reply });
        }
    }

    async fn request(&mut self, batch: &Bytes) -> Result<Reply<ProduceRequest>, ClientError> {
        let TopicPartition { topic, partition } = &self.target;
        let connection = match &self.connection {
            Some(open) if open.is_open() => open,
            _ => {
                let leader = self.brokers.leader(topic, *partition).await?;
                self.connection.insert(self.brokers.open(&leader).await?)
            }
        };
        let timeout = self.brokers.config().request_timeout.as_millis();
        let records = Records::Elsewhere(batch.len());
        let row = RequestPartition { index: partition.0, records };
        let name = topic.as_str().to_owned();
        let topic = RequestTopic { name, partitions: vec![row], ..RequestTopic::default() };
        let request = ProduceRequest {
            transactional_id: None,
            acks: -1,
            timeout_ms: i32::try_from(timeout).unwrap_or(i32::MAX),
            topics: vec![topic],
        };
        let version = connection.version_of::<ProduceRequest>(i16::MAX)?;
        Ok(connection.submit_with(version, &request, std::slice::from_ref(batch))?)
    }

    /// Waits until the first batch in flight is stored, or has been queued again together with the
    /// batches after it.
    async fn wait_first(&mut self) -> Result<(), ClientError> {
        let Some(InFlight { batch, reply }) = self.in_flight.pop_front() else { return Ok(()) };
        let now = || self.brokers.clock().monotonic();
        let Err(error) = self.settle(&batch, reply).await else {
            self.is_begun = true;
            self.backoff.reset();
            self.deadline = now().saturating_add(self.patience);
            return Ok(());
        };
        let may_retry = matches!(error.remedy(), Remedy::Retry | Remedy::Refresh);
        let pause = self.backoff.next_pause();
        if !may_retry || now().saturating_add(pause) >= self.deadline {
            return Err(self.explain(error));
        }
        self.requeue(batch).await;
        tokio::time::sleep(pause).await;
        self.refresh().await;
        Ok(())
    }

    async fn settle(
        &self,
        batch: &Bytes,
        reply: Result<Reply<ProduceRequest>, ClientError>,
    ) -> Result<(), ClientError> {
        let answer = reply?.answer().await?;
        let TopicPartition { topic, partition } = &self.target;
        let outcome = outcome(&answer, topic, *partition, batch.len());
        outcome.map(drop).map_err(|refused| refused.error)
    }

    /// Queues `first` and all batches in flight again, in order. Their responses are awaited first,
    /// so that no earlier attempt is still being processed.
    async fn requeue(&mut self, first: Bytes) {
        self.is_begun = false;
        let mut batches = VecDeque::from([first]);
        for InFlight { batch, reply } in std::mem::take(&mut self.in_flight) {
            // Ignore the outcome: the response to the repeated batch shows whether it is stored.
            let _ = self.settle(&batch, reply).await;
            batches.push_back(batch);
        }
        batches.append(&mut self.waiting);
        self.waiting = batches;
    }

    async fn refresh(&mut self) {
        self.connection = None;
        // If the refresh fails, the next attempt fails too, with the more useful reason.
        let about = std::slice::from_ref(&self.target.topic);
        let _ = self.brokers.refresh(Some(about), false).await;
    }

    /// Turns a sequence gap into a fencing error: only another copy of the same plan can have moved
    /// the sequence on.
    fn explain(&self, error: ClientError) -> ClientError {
        match error.code() {
            Some(ErrorCode::OutOfOrderSequenceNumber) => {
                let code = ErrorCode::ProducerFenced;
                let words = format!("{} has records beyond those that are next", self.target);
                ClientError::from_code(code, "", Some(&words))
            }
            _ => error,
        }
    }
}
