//! Opening or creating a partition's log, and recording its leader epoch.

use std::error::Error;
use std::sync::{Arc, MutexGuard, PoisonError, RwLockReadGuard, Weak};

use crate::replication::error::OpenFailure;
use crate::replication::role::Current;
use crate::replication::{Partition, PartitionError, Role};
use crate::storage::{Log, PartitionMetadata};

impl Partition {
    /// True if [`Partition::append`] may be called without opening anything first.
    pub fn is_appendable(&self) -> bool {
        self.current().is_appendable
    }

    /// True once the log has been looked for on the disk, and opened if it exists.
    pub fn is_open(&self) -> bool {
        self.current().is_open
    }

    /// True once the log has been opened and its files loaded, or was not found.
    pub fn is_loaded(&self) -> bool {
        let current = self.current();
        current.is_open && current.log.as_ref().is_none_or(|log| log.tail().is_loaded())
    }

    /// Opens the log if it exists, and loads its files. Blocks on the disk.
    pub fn load(self: &Arc<Self>) -> Result<(), PartitionError> {
        self.open()?;
        Ok(self.log().map_or(Ok(()), |log| log.epochs().entries().map(drop))?)
    }

    /// Opens the log if it exists. Blocks on the disk.
    pub fn open(self: &Arc<Self>) -> Result<(), PartitionError> {
        let _once = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.current();
        current.check_not_stopped()?;
        if let Some(log) = current.log.as_ref().filter(|_| !current.is_open) {
            // The role has changed, perhaps during a truncation.
            self.install(Some(log));
            self.logs().flusher.schedule(log, true);
        } else if current.log.is_none() {
            let log = self.logs().data.log_of(&self.id, self.topic_id);
            let log = log.inspect_err(|error| {
                self.note_open_failure(error, error.keeps_log_closed());
            })?;
            if log.is_some() || !current.is_open {
                self.attach(log.as_ref());
                self.forget_open_failure();
            }
        }
        Ok(())
    }

    /// Makes the partition appendable: opens or creates the log, and records the leader epoch
    /// before the first batch of that epoch. Blocks on the disk.
    pub fn lead(self: &Arc<Self>) -> Result<(), PartitionError> {
        self.current().check_accepting()?;
        let led = self.try_lead();
        match &led {
            Ok(()) => self.forget_open_failure(),
            Err(error) => self.note_open_failure(error, false),
        }
        led
    }

    /// Fails unless the log has been looked for on the disk, and opened if it exists. Until then
    /// its bounds are not known, and it must not be taken for empty.
    pub fn check_open(&self) -> Result<(), PartitionError> {
        let current = self.current();
        current.check_not_stopped()?;
        if current.is_open { Ok(()) } else { Err(self.not_open()) }
    }

    fn try_lead(self: &Arc<Self>) -> Result<(), PartitionError> {
        let (_once, current) = loop {
            self.open()?;
            let once = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
            let current = self.current();
            current.check_leading()?;
            if current.is_appendable {
                return Ok(());
            }
            // Otherwise the role has changed since.
            if current.is_open {
                break (once, current);
            }
        };
        let log = match &current.log {
            Some(log) => Arc::clone(log),
            None => self.create()?,
        };
        let _hold = self.hold(&log)?;
        let epoch = current.epoch;
        log.start_epoch(epoch)?;
        // Store the epoch here, where blocking on the disk is allowed, rather than in the first
        // append.
        log.epochs().prepare()?;
        self.update(|current| {
            let is_appendable =
                current.check_leading_in(epoch).and(current.check_accepting()).is_ok();
            Current { is_appendable, ..current.clone() }
        });
        if !self.is_appendable() {
            // Another leader was elected meanwhile, or is about to be, and the log must not accept
            // this epoch.
            log.epochs().end(epoch);
        }
        self.current().check_leading_in(epoch)?;
        self.current().check_accepting()
    }

    /// Keeps a log from being removed: writers access its files by name, and a later log of the
    /// same partition reuses those names.
    pub(super) fn hold(&self, log: &Arc<Log>) -> Result<RwLockReadGuard<'_, ()>, PartitionError> {
        let removed = PartitionError::Stopped { reason: "its log was removed" };
        self.logs().data.hold(log).ok_or(removed)
    }

    /// Creates the log of a partition that has none.
    pub(super) fn create(self: &Arc<Self>) -> Result<Arc<Log>, PartitionError> {
        self.require_room()?;
        let offset_unit = self.config().offset_unit;
        let metadata = PartitionMetadata { topic_id: self.topic_id, offset_unit };
        let log = self.logs().data.create_log(&self.id, metadata)?;
        self.attach(Some(&log));
        Ok(log)
    }

    /// Installs a log that was opened, or notes that there is none. All records below the flushed
    /// offset of the log count as stored.
    fn attach(self: &Arc<Self>, log: Option<&Arc<Log>>) {
        if let Some(log) = log {
            log.set_config(self.config());
            let weak = Arc::downgrade(self);
            log.flushes().listen(move |flushed| {
                if let Some(partition) = Weak::upgrade(&weak) {
                    partition.flushed(flushed);
                }
            });
        }
        self.install(log);
    }

    /// Lets go of the log after a truncation that the disk refused. The next use opens it again,
    /// and recovers it if the truncation was under way.
    pub(super) fn detach(&self) {
        let Some(log) = self.log() else { return };
        log.epochs().end(self.epoch());
        if self.logs().data.close_half_truncated(&log) {
            self.logs().flusher.forget(&self.id);
        }
        let mut leadership = self.lock_leadership();
        leadership.follower = None;
        // If this broker has begun to lead meanwhile, its leader has the bounds of the failed log.
        leadership.leader = None;
        self.update(|current| Current {
            log: None,
            is_open: false,
            is_appendable: false,
            ..current.clone()
        });
    }

    /// The error of the last attempt to open the log, while it is not open; or while this broker
    /// leads, and nothing can be appended.
    pub fn open_failure(&self) -> Option<Arc<str>> {
        if self.current().is_open && (self.role() != Role::Leader || self.is_appendable()) {
            return None;
        }
        self.lock_open_failure().as_ref().map(OpenFailure::reason)
    }

    /// The reason why the log cannot be opened, once it has been tried several times.
    pub fn unreadable(&self) -> Option<Arc<str>> {
        let failure = self.lock_open_failure();
        failure.as_ref().filter(|failure| failure.is_lasting()).map(OpenFailure::reason)
    }

    /// Keeps the error of an attempt to open the log, for the requests that it refuses.
    fn note_open_failure(&self, error: &dyn Error, is_lasting: bool) {
        let mut failure = self.lock_open_failure();
        *failure = Some(OpenFailure::after(failure.as_ref(), error, is_lasting));
    }

    fn forget_open_failure(&self) {
        *self.lock_open_failure() = None;
    }

    fn lock_open_failure(&self) -> MutexGuard<'_, Option<OpenFailure>> {
        self.open_failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error of a request for a log that is not open.
    pub(super) fn not_open(&self) -> PartitionError {
        let reason = self.lock_open_failure().as_ref().map(OpenFailure::reason);
        PartitionError::NotOpen {
            reason: reason.unwrap_or_else(|| "nobody has opened it yet".into()),
        }
    }
}
