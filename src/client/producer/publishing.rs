//! Publishing the audit's counts as records of the producer that they belong to.

use std::time::Duration;

use super::audit::{Audit, TOPIC};
use super::record::ProducerRecord;
use super::shared::Shared;
use crate::client::{ClientError, Ticket};
use crate::record::BatchBuilder;

/// The time between two publications of counts.
pub(crate) const PUBLISH_EVERY: Duration = Duration::from_secs(10);

/// A template for records of the audit topic.
pub(super) const AUDIT_RECORD: ProducerRecord<'_> = ProducerRecord {
    topic: TOPIC,
    partition: None,
    key: None,
    value: None,
    headers: &[],
    timestamp: None,
};

impl Shared {
    /// Returns true if there are unpublished counts.
    pub(crate) fn has_counts(&self) -> bool {
        self.audit.as_ref().is_some_and(Audit::has_counts)
    }

    /// Sends the unpublished counts as far as there is buffer space, if the audit topic is known.
    /// Returns true if any was sent.
    pub(crate) fn publish_counts(&self) -> Result<bool, ClientError> {
        let Some(audit) = &self.audit else { return Ok(false) };
        let Some(topic) = self.topics.get(TOPIC) else { return Ok(false) };
        audit.publish(|text| {
            let key = Some(audit.producer().as_bytes());
            let record = ProducerRecord { key, value: Some(text.as_bytes()), ..AUDIT_RECORD };
            let size = BatchBuilder::record_size_max(record.key, record.value, record.headers);
            if !self.pool.try_take(size) {
                return Ok(false);
            }
            self.append(&topic, &record, size).map(|_: Ticket| true)
        })
    }
}
