//! The producer's waits as futures, independent of the executor.

use std::future::IntoFuture;
use std::sync::atomic::Ordering;

use super::delivery::Ticket;
use super::handle::Producer;
use super::record::ProducerRecord;
use crate::client::ClientError;

impl Producer {
    /// [`send`](Self::send) as a future. Dropping it before it is ready sends nothing.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn sending(&self, record: &ProducerRecord<'_>) -> Result<Ticket, ClientError> {
        if let Some(ticket) = self.try_send(record)? {
            return Ok(ticket);
        }
        let topic = match self.known_topic(record)? {
            Some(topic) => topic,
            None => self.found_topic(record, self.find_topic(record).await?)?,
        };
        let size = self.size_of(record)?;
        let shared = &self.shared;
        let timeout = shared.config.send_timeout;
        let waiting = shared.pool.waiting();
        shared.wakeups.work.notify_one();
        let taking = waiting.taking(size, || shared.is_closed());
        let too_long = self.core.call(async move {
            tokio::time::sleep(timeout).await;
            Ok(())
        });
        let is_taken = tokio::select! {
            biased;
            is_taken = taking => is_taken,
            _ = too_long.into_future() => false,
        };
        if is_taken { shared.append(&topic, record, size) } else { Err(shared.buffer_full()) }
    }

    /// Looks up the topic, so that one of its partitions can be chosen.
    ///
    /// # Errors
    /// As [`partition_count`](Self::partition_count).
    pub async fn finding(&self, topic: &str) -> Result<(), ClientError> {
        let record = ProducerRecord { topic, ..ProducerRecord::default() };
        if self.shared.topics.get(topic).is_none() {
            self.found_topic(&record, self.find_topic(&record).await?)?;
        }
        Ok(())
    }

    /// Returns true if the topic is known already.
    pub fn knows(&self, topic: &str) -> bool {
        self.shared.topics.get(topic).is_some()
    }

    /// Waits until every record sent before this call is delivered or has failed. Batches are sent
    /// at once, without waiting for `linger.ms`. Failures are left for [`report`](Self::report): a
    /// future that had taken them would lose them if it were dropped.
    ///
    /// # Errors
    /// [`ClientError::Closed`] if another caller has given some of them up, and errors of
    /// publishing the audit counts.
    pub async fn settling(&self) -> Result<(), ClientError> {
        let mut below = self.settling_records().await;
        if self.publishing_counts().await? {
            below = self.settling_records().await;
        }
        self.shared.check_not_given_up(below)
    }

    /// Waits until every record sent before has an outcome, or was given up. Returns the number of
    /// the next batch after them.
    pub(super) async fn settling_records(&self) -> u64 {
        let shared = &self.shared;
        let below = shared.hurry();
        let attempt = || shared.undelivered.none_open_below(below).then_some(());
        shared.wakeups.settled.until(attempt).await;
        below
    }

    /// Reports, once, the failures that no caller has received from a ticket.
    ///
    /// # Errors
    /// [`ClientError::Delivery`] if there are any.
    pub fn report(&self) -> Result<(), ClientError> {
        self.shared.undelivered.report()
    }

    /// Closes it without waiting: records without an outcome are dropped, and are no failures.
    pub fn give_up(&self) {
        if !self.shared.is_closed.swap(true, Ordering::AcqRel) {
            self.shared.pool.wake_all();
        }
        self.shared.undelivered.give_up();
        self.task.abort();
    }

    /// [`close`](Self::close) as a future that leaves failures for [`report`](Self::report). If it
    /// is dropped early, undelivered records are given up, and are no failures.
    ///
    /// # Errors
    /// As [`settling`](Self::settling).
    pub async fn closing(&self) -> Result<(), ClientError> {
        if self.shared.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.shared.pool.wake_all();
        let _end = End { producer: self };
        self.settling().await
    }
}

/// Ends the sending task when dropped, and gives up what it has not delivered.
struct End<'a> {
    producer: &'a Producer,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.producer.give_up();
    }
}
