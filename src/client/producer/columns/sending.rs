//! Handing over many records at once.

use super::ColumnsGiven;
use crate::client::producer::landings::Landing;
use crate::client::{ClientError, Producer, ProducerRecord};
use crate::config::ConfigError;

impl Producer {
    /// Hands over the records of all rows, in order: to `topic`, or each to the topic it names.
    ///
    /// # Errors
    /// As [`send`](Self::send) of the first record that could not be handed over; those before it
    /// are on their way. A row without a topic is one of them.
    pub fn send_columns(
        &self,
        topic: Option<&str>,
        columns: &ColumnsGiven,
    ) -> Result<(), ClientError> {
        columns.check()?;
        let mut headers = Vec::new();
        for row in 0..columns.rows {
            headers.clear();
            columns.headers(row, &mut headers);
            let topic = topic.or_else(|| columns.topic(row)).ok_or_else(|| no_topic(row))?;
            self.send(&ProducerRecord {
                topic,
                partition: columns.partition(row),
                key: columns.key(row),
                value: columns.value(row),
                headers: &headers,
                timestamp: columns.timestamp(row),
            })?;
        }
        Ok(())
    }

    /// Where everything delivered so far lies; `None` if that cannot be told for certain.
    pub fn landings(&self) -> Option<Vec<Landing>> {
        self.shared.landings.all()
    }
}

fn no_topic(row: usize) -> ConfigError {
    ConfigError::single("topic", format!("row {row} of the batch names none"))
}
