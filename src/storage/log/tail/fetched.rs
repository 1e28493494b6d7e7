//! The append of fetched batches at the end of the log.

use std::io::IoSlice;

use crate::record::BatchSummary;
use crate::storage::log::tail::append::Addition;
use crate::storage::log::tail::log_tail::Tail;
use crate::storage::recovery::as_it_was_sent;
use crate::storage::{LogConfig, StorageError};
use crate::types::{Offset, Timestamp};

impl Tail {
    /// Appends batches as they are, and returns the log end offset. They have been checked, and
    /// their epochs are recorded. After an error the first of them may have been appended.
    pub(in crate::storage::log) fn append_fetched(
        &mut self,
        batches: &[(BatchSummary, &[u8])],
        now: Timestamp,
    ) -> Result<Offset, StorageError> {
        let config = self.view.context.config.load_full();
        let mut rest = batches;
        while !rest.is_empty() {
            let (run, later) = rest.split_at(run_length(rest, &config));
            let mut new = Addition::at(self.next_offset, run.len());
            for (batch, _) in run {
                new.push(*batch);
            }
            let mut buffers: Vec<_> = run.iter().map(|(_, bytes)| IoSlice::new(bytes)).collect();
            self.ensure_capacity(&new, now, &config)?;
            self.write(&mut buffers)?;
            self.advance_end(&new, now);
            let elapsed = self.view.context.clock.monotonic();
            for (batch, _) in run {
                // The leader has checked the sequences; this replica may know less of the producer.
                self.producers.replay(&as_it_was_sent(batch, config.offset_unit), elapsed);
            }
            rest = later;
        }
        Ok(self.next_offset)
    }
}

/// The number of batches, at least one, that fit into a new segment.
fn run_length(batches: &[(BatchSummary, &[u8])], config: &LogConfig) -> usize {
    let base = batches.first().map_or(Offset::ZERO, |(first, _)| first.base_offset);
    let mut bytes = 0;
    let fits = |(batch, _): &&(BatchSummary, &[u8])| {
        bytes += batch.size as u64;
        bytes <= config.segment_size.0 && batch.next_offset().since(base) <= i32::MAX.into()
    };
    batches.iter().take_while(fits).count().max(1)
}
