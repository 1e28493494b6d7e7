//! I14: the high watermark that clients see never falls.

use std::collections::BTreeMap;

use streamlog::types::{Offset, PartitionIndex};

use super::Violation;

const INVARIANT: &str = "the watermark never falls";

/// The high watermarks that clients have seen.
#[derive(Debug, Default)]
pub(crate) struct Watermarks {
    seen: BTreeMap<PartitionIndex, Offset>,
}

impl Watermarks {
    /// The greatest high watermark that a client has seen.
    pub(crate) fn latest(&self, partition: PartitionIndex) -> Offset {
        self.seen.get(&partition).copied().unwrap_or_default()
    }

    /// Takes an answer. `floor` is the greatest watermark that a client had seen when the question
    /// was sent.
    pub(crate) fn heard(
        &mut self,
        (partition, watermark): (PartitionIndex, Offset),
        floor: Offset,
    ) -> Result<(), Violation> {
        if watermark < floor {
            let facts = format!("{partition:?} shows {watermark} after {floor}");
            return Err(Violation::new(INVARIANT, facts));
        }
        let seen = self.seen.entry(partition).or_default();
        *seen = (*seen).max(watermark);
        Ok(())
    }
}
