//! Publishing counts as records of the audit topic, through the producer they belong to.

use std::time::Duration;

use super::TOPIC;
use crate::client::producer::handle::{Producer, ProducerRecord, Shared};
use crate::client::{ClientError, Ticket};
use crate::record::BatchBuilder;

/// The maximum age of unpublished counts.
pub(crate) const PUBLISH_EVERY: Duration = Duration::from_secs(10);

const RECORD: ProducerRecord<'_> = ProducerRecord {
    topic: TOPIC,
    partition: None,
    key: None,
    value: None,
    headers: &[],
    timestamp: None,
};

impl Producer {
    /// Returns true if all records have an outcome after this flush, so that every delivered record
    /// is counted, even if others failed.
    pub(crate) fn leaves_counts(flushed: &Result<(), ClientError>) -> bool {
        matches!(flushed, Ok(()) | Err(ClientError::Delivery { .. }))
    }

    /// Sends the unpublished counts, looking up the audit topic if necessary; true if there were
    /// any.
    pub(crate) fn publish_counts(&self) -> Result<bool, ClientError> {
        if !self.shared.has_counts() {
            return Ok(false);
        }
        if self.known_topic(&RECORD)?.is_none() {
            self.found_topic(&RECORD, self.find_topic(&RECORD).wait()?)?;
        }
        self.shared.publish_counts()
    }

    /// [`publish_counts`](Self::publish_counts) as a future.
    pub(crate) async fn publishing_counts(&self) -> Result<bool, ClientError> {
        if !self.shared.has_counts() {
            return Ok(false);
        }
        if self.known_topic(&RECORD)?.is_none() {
            self.found_topic(&RECORD, self.find_topic(&RECORD).await?)?;
        }
        self.shared.publish_counts()
    }
}

impl Shared {
    /// Returns true if there are unpublished counts.
    pub(crate) fn has_counts(&self) -> bool {
        self.audit.as_ref().is_some_and(super::Audit::has_counts)
    }

    /// Sends the unpublished counts if the audit topic is known and as far as there is buffer
    /// space; true if any was sent.
    pub(crate) fn publish_counts(&self) -> Result<bool, ClientError> {
        let Some(audit) = &self.audit else { return Ok(false) };
        let Some(topic) = self.topics.get(TOPIC) else { return Ok(false) };
        audit.publish(|text| {
            let key = Some(audit.producer().as_bytes());
            let record = ProducerRecord { key, value: Some(text.as_bytes()), ..RECORD };
            let size = BatchBuilder::record_size_max(record.key, record.value, record.headers);
            if !self.pool.try_take(size) {
                return Ok(false);
            }
            self.append(&topic, &record, size).map(|_: Ticket| true)
        })
    }
}
