//! Loading a log's files, when it is first used or after recovery.

use crate::storage::StorageError;
use crate::storage::log::Log;
use crate::storage::log::tail::Tail;
use crate::storage::recovery::{self, Known};

impl Log {
    /// Loads a log that was closed cleanly: it must still end where the close left it. If its files
    /// were damaged since, it is recovered as after an unclean shutdown.
    pub(super) fn load(&self, tail: &mut Tail) -> Result<(), StorageError> {
        tail.require_not_refused()?;
        let loaded = match self.load_as_closed(tail) {
            Err(damage @ StorageError::Corrupt { .. }) => {
                tracing::error!("{damage}; the whole log is recovered");
                match self.load_damaged(tail) {
                    // The disk has logged its error, and each request would read the log again.
                    Err(StorageError::Io { .. }) => Err(damage),
                    result => result,
                }
            }
            result => result,
        };
        loaded.inspect_err(|error| tail.note_refused(error))
    }

    /// Recovers the readable part. If the file is shorter than at the close, nothing is appended,
    /// since a backup may still be restored.
    fn load_damaged(&self, tail: &mut Tail) -> Result<(), StorageError> {
        // All of it was durable when the log was closed, so nothing may be truncated.
        let (log_start, log_end) = (self.log_start_offset(), tail.next_offset());
        let known = Known { log_start, durable: log_end, rebuild: log_start, same_boot: true };
        let recovered = recovery::recover(self.context(), &known)?;
        let is_empty = recovered.segments.is_empty();
        let last_damage = recovered.segments.last().and_then(|segment| segment.damages().pop());
        let is_cut_off = last_damage.is_some_and(|last| last.start == last.end);
        let is_end_known = recovered.log_end == log_end && !is_cut_off;
        self.leader_epochs().restore(recovered.epochs);
        tail.restore(recovered.producers, Some(recovered.segments));
        if is_empty {
            let context = self.context();
            Err(context.corrupt(log_start..log_end, &context.dir, 0))
        } else if recovered.ends_in_damage && is_end_known {
            // The log end offset is known from the close, so the log continues there, after the
            // damage.
            tail.continue_after_damage()
        } else {
            tail.activate(recovered.ends_in_damage)
        }
    }

    fn load_as_closed(&self, tail: &mut Tail) -> Result<(), StorageError> {
        let context = self.context();
        let segments = self.segments();
        let Some(last) = segments.last() else { return tail.activate(false) };
        self.leader_epochs().restore(recovery::load_epochs(context, &segments)?);
        tail.restore(recovery::load_producers(context, &segments, tail.next_offset())?, None);
        let size = last.size()?;
        let ends_in_damage = last.damages().last().is_some_and(|damage| damage.end >= size);
        tail.activate(ends_in_damage)
    }

    /// Lets a log that ends in damage accept records again once that damage was skipped.
    pub(in crate::storage) fn resume_after_damage(&self) -> Result<(), StorageError> {
        self.lock_tail().resume_after_damage()
    }
}
