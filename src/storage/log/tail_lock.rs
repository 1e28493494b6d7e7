//! The lock of a log's tail. A log that was closed cleanly loads its files when the lock is first
//! taken for an operation that needs them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use crate::storage::log::leader_epochs::LeaderEpochs;
use crate::storage::log::tail::{Segments, Tail, View};
use crate::storage::recovery::{self, Known};
use crate::storage::segments::LogContext;
use crate::storage::{ActiveProducer, StorageError};
use crate::types::{LeaderEpoch, Offset, ProducerId, Timestamp};

/// The tail of a log behind its lock, with the bounds and segments that it changes and the leader
/// epochs that are loaded with it.
#[derive(Debug)]
pub struct TailLock {
    /// The bounds and the segments; the tail changes them.
    view: Arc<View>,
    tail: Mutex<Tail>,
    /// True once the files were seen to be loaded.
    is_loaded: AtomicBool,
    epochs: LeaderEpochs,
}

/// The number of times that a lock which is not free is tried again.
const TRIES: usize = 100;

impl TailLock {
    /// The tail of a log with these bounds and segments, whose files are not loaded yet.
    pub(super) fn not_loaded(view: View) -> Self {
        let view = Arc::new(view);
        Self {
            tail: Mutex::new(Tail::not_loaded(Arc::clone(&view))),
            is_loaded: AtomicBool::new(false),
            epochs: LeaderEpochs::new(view.context()),
            view,
        }
    }

    /// The bounds and the segments.
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// The state shared by all parts of the log.
    pub(super) fn context(&self) -> &Arc<LogContext> {
        self.view.context()
    }

    /// The segments, sorted by base offset.
    pub(super) fn segments(&self) -> Segments {
        self.view.segments()
    }

    /// The history of the leader epochs.
    pub(super) fn epochs(&self) -> &LeaderEpochs {
        &self.epochs
    }

    /// Locks the tail, whether its files are loaded or not.
    pub(super) fn lock(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the tail as `lock` does, but without waiting for the disk: `None` if another thread
    /// goes on to hold the lock, as a truncation does.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, Tail>> {
        for _ in 0..TRIES {
            match self.tail.try_lock() {
                Ok(tail) => return Some(tail),
                Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
                Err(TryLockError::WouldBlock) => thread::yield_now(),
            }
        }
        None
    }

    /// Locks the tail; before that, loads the log's files if they are not loaded yet.
    pub(super) fn loaded(&self) -> Result<MutexGuard<'_, Tail>, StorageError> {
        let mut tail = self.lock();
        if !tail.is_loaded() {
            self.load(&mut tail)?;
        }
        Ok(tail)
    }

    /// Locks the tail of a log that accepts records.
    pub(super) fn writable(&self) -> Result<MutexGuard<'_, Tail>, StorageError> {
        let tail = self.loaded()?;
        tail.require_writable()?;
        Ok(tail)
    }

    /// Locks the tail of a log that accepts records in leader epoch `epoch`.
    pub(super) fn in_epoch(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<MutexGuard<'_, Tail>, StorageError> {
        let tail = self.writable()?;
        tail.require_epoch(epoch)?;
        Ok(tail)
    }

    /// Returns true once the files of a log that was closed cleanly are loaded. Does not wait for
    /// the disk: while they are being loaded, they are not.
    pub fn is_loaded(&self) -> bool {
        let known = || self.is_loaded.load(Ordering::Acquire);
        let is_loaded = known() || self.try_lock().is_some_and(|tail| tail.is_loaded());
        if is_loaded {
            self.is_loaded.store(true, Ordering::Release);
        }
        is_loaded
    }

    /// Loads the files of a log that was closed cleanly, if they are not loaded yet.
    pub(in crate::storage) fn ensure_loaded(&self) -> Result<(), StorageError> {
        self.loaded().map(drop)
    }

    /// Lets a log that ends in damage accept records again once that damage was skipped.
    pub(in crate::storage) fn resume_after_damage(&self) -> Result<(), StorageError> {
        self.lock().resume_after_damage()
    }

    /// Bytes of the active segment; 0 if there is none.
    pub(in crate::storage) fn active_size(&self) -> u64 {
        self.lock().active_size()
    }

    /// Rolls the active segment if `age` has passed since its first append or, if that is later,
    /// since the log was opened. Returns true if it did.
    pub(in crate::storage) fn roll_older(
        &self,
        age: Duration,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        self.writable()?.roll_older(age, now)
    }

    /// Rolls the active segment of a log in leader epoch `epoch` if it has damage that is not
    /// skipped, so that it can be repaired. Returns true if it did: the new segment must be flushed
    /// before the old one is replaced.
    ///
    /// # Errors
    /// `EpochMismatch` if the log is in another epoch, or an error of the disk.
    pub fn roll_damaged(&self, epoch: LeaderEpoch) -> Result<bool, StorageError> {
        self.in_epoch(epoch)?.roll_damaged(self.context().clock.now())
    }

    /// Rolls the active segment, if it is not empty, so that it can be compacted or deleted.
    #[cfg(any(test, feature = "internals"))]
    pub fn roll(&self, now: Timestamp) -> Result<(), StorageError> {
        self.writable()?.roll_if_filled(now)
    }

    /// Removes the idempotent producers that have been inactive for too long.
    pub fn expire_producers(&self) {
        self.lock().expire_producers();
    }

    /// The idempotent producers of which the log keeps state.
    ///
    /// # Errors
    /// If the log is not loaded yet and cannot be.
    pub fn active_producers(&self) -> Result<Vec<ActiveProducer>, StorageError> {
        Ok(self.loaded()?.active_producers())
    }

    /// The last offset of every idempotent producer of which the log keeps state.
    pub(in crate::storage) fn last_offsets_of_producers(&self) -> HashMap<ProducerId, Offset> {
        self.lock().last_offsets_of_producers()
    }

    /// The offsets that were durable and are lost at the end of the log, loaded if it was not.
    ///
    /// # Errors
    /// If the log cannot be loaded: `Corrupt` if nothing is left of it.
    pub(in crate::storage) fn lost_end(&self) -> Result<Option<Range<Offset>>, StorageError> {
        self.ensure_loaded()?;
        Ok(self.lock().lost_end())
    }

    /// Loads a log that was closed cleanly: it must still end where the close left it. If its files
    /// were damaged since the close, it is recovered as after an unclean shutdown.
    fn load(&self, tail: &mut Tail) -> Result<(), StorageError> {
        tail.require_not_refused()?;
        let loaded = match self.load_as_closed(tail) {
            Err(damage @ StorageError::Corrupt { .. }) => {
                tracing::error!("{damage}; the whole log is recovered");
                match self.load_damaged(tail) {
                    // Return the damage, which keeps the next requests from reading the log again.
                    // The error of the disk is logged already.
                    Err(StorageError::Io { .. }) => Err(damage),
                    result => result,
                }
            }
            result => result,
        };
        loaded.inspect_err(|error| tail.note_refused(error))
    }

    /// Recovers the readable part. If the file is shorter than at the close, the log accepts no
    /// records, since a backup may still be restored.
    fn load_damaged(&self, tail: &mut Tail) -> Result<(), StorageError> {
        // The whole log was durable when it was closed, so nothing may be truncated.
        let (log_start, log_end) = (self.view.log_start(), tail.next_offset());
        let known = Known { log_start, durable: log_end, rebuild: log_start, same_boot: true };
        let recovered = recovery::recover(self.context(), &known)?;
        let is_empty = recovered.segments.is_empty();
        let last_damage = recovered.segments.last().and_then(|segment| segment.damages().pop());
        let is_cut_off = last_damage.is_some_and(|last| last.start == last.end);
        let is_end_known = recovered.log_end == log_end && !is_cut_off;
        self.epochs.restore(recovered.epochs);
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
        self.epochs.restore(recovery::load_epochs(context, &segments)?);
        tail.restore(recovery::load_producers(context, &segments, tail.next_offset())?, None);
        let size = last.size()?;
        let ends_in_damage = last.damages().last().is_some_and(|damage| damage.end >= size);
        tail.activate(ends_in_damage)
    }
}
