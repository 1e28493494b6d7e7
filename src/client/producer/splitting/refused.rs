//! The reasons for which a broker refused a batch.

use crate::client::ClientError;
use crate::wire::produce::Partition;

/// The error of a batch that was not stored.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    /// The error of the batch as a whole.
    pub(crate) error: ClientError,
    /// The errors of the records at fault, by their places in the batch, in order. Empty if the
    /// broker named none.
    named: Vec<(u32, ClientError)>,
}

impl Refused {
    /// The error in a response's row, with the errors of single records if it names any.
    pub(crate) fn of(row: &Partition, about: &str) -> Self {
        let words = row.error_message.as_deref();
        let mut named: Vec<_> = row
            .record_errors
            .iter()
            .filter_map(|record| {
                let place = u32::try_from(record.batch_index).ok()?;
                // Brokers may leave out the messages of records when there are many of them.
                let words = record.message.as_deref().or(words);
                Some((place, ClientError::from_code(row.error_code, about, words)))
            })
            .collect();
        named.sort_by_key(|(place, _)| *place);
        named.dedup_by_key(|(place, _)| *place);
        Self { error: ClientError::from_code(row.error_code, about, words), named }
    }

    /// The errors of the named records, for a batch of `records` records. Places beyond the batch
    /// are ignored.
    pub(crate) fn within(&self, records: u32) -> &[(u32, ClientError)] {
        &self.named[..self.named.partition_point(|(place, _)| *place < records)]
    }
}

impl From<ClientError> for Refused {
    fn from(error: ClientError) -> Self {
        Self { error, named: Vec::new() }
    }
}
