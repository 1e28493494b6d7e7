//! Skipping damaged records at an operator's request, which is recorded in the audit log.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::storage::directory::data_dir::DataDir;
use crate::storage::{Log, LogDamage, SkipError, SkippedStretch, StorageError};
use crate::types::{Offset, TopicPartition};

/// A line of the audit log.
struct Decision<'a> {
    verb: &'static str,
    partition: &'a TopicPartition,
    stretch: &'a SkippedStretch,
    by: &'a str,
}

impl DataDir {
    /// Lets readers of a log pass over its damaged stretches within `offsets`, at the request of
    /// `by`. Durable on return, with a copy of the bytes in `quarantine/skipped/` and a line for
    /// each stretch in `audit.log`.
    ///
    /// # Errors
    /// If no damage lies in the range, or one of its bounds lies within a damaged stretch; or if
    /// the disk fails. Nothing is skipped then, unless the disk failed only when a segment was
    /// created after the damage.
    pub fn skip_damage(
        &self,
        log: &Arc<Log>,
        offsets: Range<Offset>,
        by: &str,
    ) -> Result<Vec<SkippedStretch>, SkipError> {
        let _hold = self.require(log)?;
        let mut recorded = Vec::new();
        let skipped = LogDamage::of(log).skip(offsets, |stretches| {
            recorded = stretches.to_vec();
            self.audit("skip-damage", log, stretches, by)
        });
        if skipped.is_err() && !recorded.is_empty() {
            // Correct the lines already written. On a full disk this may fail too.
            let _ = self.audit("failed skip-damage", log, &recorded, by);
        }
        skipped
    }

    fn audit(
        &self,
        verb: &'static str,
        log: &Log,
        stretches: &[SkippedStretch],
        by: &str,
    ) -> Result<(), StorageError> {
        let partition = log.partition();
        stretches.iter().try_for_each(|stretch| {
            let decision = Decision { verb, partition, stretch, by };
            self.audit.append(&*self.disk, self.env.clock.now(), &decision)
        })
    }
}

impl fmt::Display for Decision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, partition, stretch, by } = self;
        let damage = &stretch.damage;
        write!(
            f,
            "{verb} {partition} offsets={}..{} segment={} positions={}..{} unreadable={}",
            damage.first, damage.next, damage.segment, damage.start, damage.end, stretch.unreadable
        )?;
        if let Some(copy) = &stretch.copy {
            write!(f, " copy={:?}", copy.display().to_string())?;
        }
        // Quote the requester, who must not be able to forge lines.
        write!(f, " by={by:?}")
    }
}
