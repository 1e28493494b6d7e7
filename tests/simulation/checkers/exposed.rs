//! I13: a record that a consumer was shown is never withdrawn.

use std::collections::BTreeMap;

use streamlog::types::PartitionIndex;

use super::{Records, Violation};

const INVARIANT: &str = "an exposed record is never withdrawn";

/// The records that consumers were shown.
#[derive(Debug, Default)]
pub(crate) struct ExposedRecords {
    records: BTreeMap<PartitionIndex, Records>,
}

impl ExposedRecords {
    /// Adds records that a consumer was shown: one after another, and the same as before.
    pub(super) fn add(
        &mut self,
        partition: PartitionIndex,
        records: &[(i64, u64)],
    ) -> Result<(), Violation> {
        self.agree(partition, records)?;
        if let Some(pair) = records.windows(2).find(|pair| pair[1].0 != pair[0].0 + 1) {
            let facts = format!("{partition:?} goes on at {} after {}", pair[1].0, pair[0].0);
            return Err(Violation::new(INVARIANT, facts));
        }
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
            let shown = known.and_then(|known| known.get(offset));
            if shown.is_some_and(|shown| shown != value) {
                let facts = format!("{partition:?} has {value} at {offset}, not {shown:?}");
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
