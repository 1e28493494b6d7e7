//! I12: a record that was acknowledged with `acks=all` is never lost.

use std::collections::BTreeMap;

use streamlog::types::PartitionIndex;

use super::{Records, Violation};

const INVARIANT: &str = "an acknowledged record is never lost";

/// The acknowledged records.
#[derive(Debug, Default)]
pub(crate) struct AcknowledgedRecords {
    records: BTreeMap<PartitionIndex, Records>,
}

impl AcknowledgedRecords {
    /// Adds records that were acknowledged: none has the place of another.
    pub(super) fn add(
        &mut self,
        partition: PartitionIndex,
        records: &[(i64, u64)],
    ) -> Result<(), Violation> {
        self.agree(partition, records)?;
        self.records.entry(partition).or_default().extend(records.iter().copied());
        Ok(())
    }

    /// Compares records that somebody else has seen.
    pub(super) fn agree(
        &self,
        partition: PartitionIndex,
        records: &[(i64, u64)],
    ) -> Result<(), Violation> {
        let known = self.records.get(&partition);
        for (offset, value) in records {
            let expected = known.and_then(|known| known.get(offset));
            if expected.is_some_and(|expected| expected != value) {
                let facts = format!("{partition:?} has {value} at {offset}, not {expected:?}");
                return Err(Violation::new(INVARIANT, facts));
            }
        }
        Ok(())
    }

    /// Judges the log of a replica that has all records.
    pub(super) fn kept(&self, partition: PartitionIndex, log: &Records) -> Result<(), Violation> {
        for (offset, value) in self.records.get(&partition).into_iter().flatten() {
            let found = log.get(offset);
            if found != Some(value) {
                let facts = format!("{partition:?} has {found:?} at {offset}, not {value}");
                return Err(Violation::new(INVARIANT, facts));
            }
        }
        Ok(())
    }
}
