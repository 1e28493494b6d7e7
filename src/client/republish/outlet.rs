//! Sending batches to one partition in order, several under way at once, until each is stored.
//!
//! A leader that knows nothing of a producer takes any sequence number as its first, so that until
//! a batch was acknowledged only one is under way. After a failure everything unanswered is sent
//! again in order: what was stored meanwhile is recognised by its numbers. No more than five are
//! under way, since a leader recognises the last five.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::client::ClientError;
use crate::client::cluster::{Backoff, Brokers, Connection, Reply};
use crate::client::error::Remedy;
use crate::client::producer::outcome;
use crate::types::TopicPartition;
use crate::wire::produce::{RequestPartition, RequestTopic};
use crate::wire::{ErrorCode, ProduceRequest, Records};

/// Batches that a leader recognises when they come again.
const UNDER_WAY_MAX: usize = 5;

/// The way into one partition.
#[derive(Debug)]
pub(super) struct Outlet {
    brokers: Arc<Brokers>,
    target: TopicPartition,
    connection: Option<Connection>,
    /// In order, behind those under way.
    waiting: VecDeque<Bytes>,
    under_way: VecDeque<UnderWay>,
    /// Whether the leader has acknowledged a batch since the last failure.
    is_begun: bool,
    backoff: Backoff,
    /// How long a batch is tried.
    patience: Duration,
    deadline: Duration,
}

#[derive(Debug)]
struct UnderWay {
    batch: Bytes,
    reply: Result<Reply<ProduceRequest>, ClientError>,
}

impl Outlet {
    /// A way that nothing has gone yet.
    pub(super) fn new(brokers: Arc<Brokers>, target: TopicPartition, patience: Duration) -> Self {
        Self {
            target,
            connection: None,
            waiting: VecDeque::new(),
            under_way: VecDeque::new(),
            is_begun: false,
            backoff: Backoff::new(brokers.config(), brokers.clock().as_ref()),
            patience,
            deadline: brokers.clock().monotonic().saturating_add(patience),
            brokers,
        }
    }

    /// Sends a batch behind the others, once there is room for it.
    pub(super) async fn send(&mut self, batch: Bytes) -> Result<(), ClientError> {
        self.waiting.push_back(batch);
        loop {
            self.send_waiting().await;
            if self.waiting.is_empty() {
                return Ok(());
            }
            self.await_first().await?;
        }
    }

    /// Waits until all are stored.
    pub(super) async fn finish(mut self) -> Result<(), ClientError> {
        while !self.under_way.is_empty() || !self.waiting.is_empty() {
            self.await_first().await?;
            self.send_waiting().await;
        }
        Ok(())
    }

    async fn send_waiting(&mut self) {
        let most = if self.is_begun { UNDER_WAY_MAX } else { 1 };
        while self.under_way.len() < most
            && let Some(batch) = self.waiting.pop_front()
        {
            let reply = self.request(&batch).await;
            self.under_way.push_back(UnderWay { batch, reply });
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
        connection.submit_with(version, &request, std::slice::from_ref(batch))
    }

    /// Waits until the first of those under way is stored, or all of them are to be sent again.
    async fn await_first(&mut self) -> Result<(), ClientError> {
        let Some(UnderWay { batch, reply }) = self.under_way.pop_front() else { return Ok(()) };
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
        self.take_back(batch).await;
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
        outcome(&answer, topic, *partition, batch.len()).map(drop)
    }

    /// Waits until nothing is under way, whatever comes of it, so that all can go out again in
    /// order, with `first` before them.
    async fn take_back(&mut self, first: Bytes) {
        self.is_begun = false;
        let mut batches = VecDeque::from([first]);
        for UnderWay { batch, reply } in std::mem::take(&mut self.under_way) {
            // What became of it is found out when it is sent again.
            let _ = self.settle(&batch, reply).await;
            batches.push_back(batch);
        }
        batches.append(&mut self.waiting);
        self.waiting = batches;
    }

    async fn refresh(&mut self) {
        self.connection = None;
        // If this fails, so does the next attempt, with the better reason.
        let about = std::slice::from_ref(&self.target.topic);
        let _ = self.brokers.refresh(Some(about), false).await;
    }

    /// Another producer's number where ours should follow is another one who copies the same.
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
