//! Sending many records with one call.

use std::sync::Arc;

use super::ColumnsGiven;
use crate::client::producer::delivered::DeliveredBatches;
use crate::client::producer::topics::TopicQueues;
use crate::client::{ClientError, Producer, ProducerRecord};
use crate::config::ConfigError;

/// The topic of the previous row, which nearly always is the topic of the next.
type Known<'a> = Option<(&'a str, Arc<TopicQueues>)>;

impl Producer {
    /// Sends the records of all rows in order, to `topic` or to the topic in each row. Records
    /// without a timestamp get the time of the call.
    ///
    /// # Errors
    /// As [`send`](Self::send), for the first record that could not be sent, for instance a row
    /// without a topic. The records before it are sent.
    pub fn send_columns(
        &self,
        topic: Option<&str>,
        columns: &ColumnsGiven,
    ) -> Result<(), ClientError> {
        columns.check()?;
        let now = self.shared.brokers.clock().now();
        let mut headers = Vec::new();
        let mut known = None;
        for row in 0..columns.rows {
            headers.clear();
            columns.headers(row, &mut headers);
            let topic = topic.or_else(|| columns.topic(row)).ok_or_else(|| no_topic(row))?;
            let record = ProducerRecord {
                topic,
                partition: columns.partition(row),
                key: columns.key(row),
                value: columns.value(row),
                headers: &headers,
                timestamp: Some(columns.timestamp(row).unwrap_or(now)),
            };
            if !self.append_known(&mut known, topic, &record)? {
                self.send(&record)?;
            }
        }
        Ok(())
    }

    /// The batches delivered so far, by partition; `None` if their offsets are not certain.
    pub fn delivered_batches(&self) -> Option<Vec<DeliveredBatches>> {
        self.shared.delivered.all()
    }

    /// Sends a record if its topic and partition are known and there is buffer space; returns false
    /// otherwise. The topic is looked up only if it differs from the one before.
    fn append_known<'a>(
        &self,
        known: &mut Known<'a>,
        topic: &'a str,
        record: &ProducerRecord<'_>,
    ) -> Result<bool, ClientError> {
        let size = self.size_of(record)?;
        if known.as_ref().is_none_or(|(name, _)| *name != topic) {
            *known = self.shared.topics.get(topic).map(|queues| (topic, queues));
        }
        let Some((_, queues)) = known else { return Ok(false) };
        let has_partition = record.partition.is_none_or(|partition| {
            usize::try_from(partition.0).is_ok_and(|index| index < queues.queues.len())
        });
        if !has_partition || !self.shared.pool.try_take(size) {
            return Ok(false);
        }
        self.shared.append(queues, record, size).map(|_| true)
    }
}

fn no_topic(row: usize) -> ConfigError {
    ConfigError::single("topic", format!("row {row} of the batch has no topic"))
}
