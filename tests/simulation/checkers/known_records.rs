//! I12, I13: the records of which clients know, by an acknowledgement or because they were shown
//! them. Each keeps its offset for ever.

use std::collections::BTreeMap;

use streamlog::types::PartitionIndex;

use super::{Records, Violation};

/// Records of which clients know.
#[derive(Debug)]
pub(crate) struct KnownRecords {
    invariant: &'static str,
    records: BTreeMap<PartitionIndex, Records>,
}

impl KnownRecords {
    /// I12: the records that were acknowledged with `acks=all`.
    pub(super) fn acknowledged() -> Self {
        Self::under("an acknowledged record is never lost")
    }

    /// I13: the records that consumers were shown.
    pub(super) fn exposed() -> Self {
        Self::under("an exposed record is never withdrawn")
    }

    fn under(invariant: &'static str) -> Self {
        Self { invariant, records: BTreeMap::new() }
    }

    /// Adds records, with adjacent offsets: none has the place of another.
    pub(super) fn add(
        &mut self,
        partition: PartitionIndex,
        records: &[(i64, u64)],
    ) -> Result<(), Violation> {
        self.agree(partition, records)?;
        if let Some(pair) = records.windows(2).find(|pair| pair[1].0 != pair[0].0 + 1) {
            let facts = format!("{partition:?} goes on at {} after {}", pair[1].0, pair[0].0);
            return Err(Violation::new(self.invariant, facts));
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
            let expected = known.and_then(|known| known.get(offset));
            if expected.is_some_and(|expected| expected != value) {
                let facts = format!("{partition:?} has {value} at {offset}, not {expected:?}");
                return Err(Violation::new(self.invariant, facts));
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
                return Err(Violation::new(self.invariant, facts));
            }
        }
        Ok(())
    }
}
