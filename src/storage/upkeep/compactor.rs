//! The thread that compacts the logs of a data directory, one after another, the dirtiest first.
//!
//! It checks at intervals, and not while the wall clock is untrusted. A log with a damaged batch is
//! reported and left out until an operator skips the damage. A log that cannot be compacted for
//! another reason is left out until the next check. Only a failed sync, or a file that was removed
//! or replaced, ends the thread.

use std::cell::Cell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::config::{ByteSize, settings};
use crate::io::{Clock, Worker};
use crate::storage::compaction::{Bounds, Candidate, Effort, Pass, compact};
use crate::storage::upkeep::AgeClock;
use crate::storage::upkeep::passes::{high_watermark, is_local};
use crate::storage::worker::start_worker;
use crate::storage::{DataDir, HighWatermarks, Log, LogDamage, StorageError, UpkeepListener};
use crate::types::{Timestamp, WithCauses};

settings! {
    /// The options of compaction.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CompactionOptions {
        /// Milliseconds between checks for logs to compact.
        #[setting("log.cleaner.backoff.ms", Long in 1..)]
        interval: Duration = Duration::from_secs(15),
        /// Bytes of memory for the keys of a compaction; further keys wait for the next.
        // The memory is allocated as keys are added, and freed after the pass.
        #[setting("log.cleaner.dedupe.buffer.size", Long in 1 << 16..=1 << 40)]
        map_size: ByteSize = ByteSize(128 << 20),
        /// Bytes that compaction reads in a second at most; -1 for no limit.
        #[setting("log.cleaner.io.max.bytes.per.second", Long in 1 << 16..=1 << 40)]
        rate: Option<ByteSize> = Some(ByteSize(128 << 20)),
    }
}

/// Compacts the logs of a data directory.
pub(super) struct Compactor {
    shared: Arc<Shared>,
    thread: Worker,
}

struct Shared {
    directory: Arc<DataDir>,
    clock: Arc<dyn Clock>,
    ages: Arc<AgeClock>,
    options: CompactionOptions,
    listener: Arc<UpkeepListener>,
    is_stopping: Mutex<bool>,
    changed: Condvar,
}

/// The progress of a pass, for its rate limit.
struct Pace {
    began: Duration,
    bytes: Cell<u64>,
}

/// Logs that are not compacted for the time being.
#[derive(Default)]
struct Deferred {
    /// Logs with damage, each with the number of its stretches that are not skipped. They wait
    /// until that number falls.
    damaged: Vec<(Weak<Log>, usize)>,
    /// Logs to try again at the next check.
    until_next_check: Vec<Weak<Log>>,
}

/// The size from which on the active segment of an internal topic is rolled and compacted on a full
/// disk.
const COMMITS_MIN: u64 = 32 << 10;

/// The shortest wait. A sleep lasts longer than asked for, so shorter waits are added up first.
const WAIT_MIN: Duration = Duration::from_millis(20);

impl Compactor {
    /// A compactor whose thread is not started yet.
    pub(super) fn new(
        directory: Arc<DataDir>,
        clock: Arc<dyn Clock>,
        ages: Arc<AgeClock>,
        options: CompactionOptions,
        listener: Arc<UpkeepListener>,
    ) -> Self {
        let shared = Arc::new(Shared {
            directory,
            clock,
            ages,
            options,
            listener,
            is_stopping: Mutex::new(false),
            changed: Condvar::new(),
        });
        Self { shared, thread: Worker::default() }
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(super) fn start(&mut self) -> Result<(), StorageError> {
        let (runner, told) = (Arc::clone(&self.shared), Arc::clone(&self.shared.listener));
        let on_fatal = move |error: &StorageError| (told.on_fatal)(error);
        let path = self.shared.directory.path();
        self.thread = start_worker("compaction", path, on_fatal, move || runner.run())?;
        Ok(())
    }

    /// Ends the thread, between two batches if it is compacting.
    pub(super) fn stop(&self) {
        *self.shared.lock() = true;
        self.shared.changed.notify_one();
        self.thread.join();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_stopping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits; returns false if the thread must stop.
    fn wait(&self, time: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), time, |stopping| !*stopping);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn run(&self) {
        let mut deferred = Deferred::default();
        while self.wait(self.options.interval) {
            let Some(now) = self.ages.now() else { continue };
            deferred.until_next_check.clear();
            match self.compact_due(now, &mut deferred) {
                Err(error) if error.is_logged() && is_local(&error) => {}
                Err(error) if is_local(&error) => {
                    tracing::warn!(error = %WithCauses(&error), "compaction is retried later");
                }
                Err(error) => {
                    (self.listener.on_fatal)(&error);
                    return;
                }
                Ok(()) => {}
            }
        }
    }

    /// Compacts the logs that are due.
    fn compact_due(&self, now: Timestamp, deferred: &mut Deferred) -> Result<(), StorageError> {
        self.roll_overdue(now)?;
        while !*self.lock() {
            let Some(candidate) = self.dirtiest(now, deferred)? else { return Ok(()) };
            self.compact(&candidate, now, deferred)?;
        }
        Ok(())
    }

    fn compact(
        &self,
        candidate: &Candidate,
        now: Timestamp,
        deferred: &mut Deferred,
    ) -> Result<(), StorageError> {
        let pace = Pace { began: self.clock.monotonic(), bytes: Cell::new(0) };
        let effort = Effort {
            map_size: self.options.map_size,
            now,
            directory: Some(&self.directory),
            keep_going: &|bytes| self.keep_going(&pace, bytes),
        };
        let log = candidate.log();
        match compact(candidate, &effort) {
            Ok(Pass::Done { below, freed }) => {
                tracing::info!(partition = %log.partition(), %below, freed, "compacted");
                if !candidate.is_advanced_by(below) {
                    deferred.until_next_check.push(Arc::downgrade(log));
                }
                Ok(())
            }
            Ok(Pass::Stopped) => {
                deferred.until_next_check.push(Arc::downgrade(log));
                Ok(())
            }
            Err(error) => deferred.tolerate(log, error),
        }
    }

    /// Rolls active segments whose first record has waited too long for compaction and, on a full
    /// disk, those with many commits.
    fn roll_overdue(&self, now: Timestamp) -> Result<(), StorageError> {
        let mut has_left = false;
        let is_short = self.directory.is_short_of_room();
        for log in self.compacted_logs() {
            let age = if is_short && has_commits(&log) {
                Duration::ZERO
            } else {
                log.config().max_compaction_lag
            };
            let left = log.tail().roll_older(age, now).and_then(|left| {
                // The new segment must be durable before the old one counts as closed.
                if left { log.flush().map(|_| true) } else { Ok(false) }
            });
            match left {
                Ok(left) => has_left |= left,
                Err(error) if is_local(&error) => {
                    tracing::debug!(partition = %log.partition(), %error, "not compacted");
                }
                Err(error) => return Err(error),
            }
        }
        if has_left {
            self.directory.checkpoint(&(self.listener.high_watermarks)())?;
        }
        Ok(())
    }

    /// The log with the highest dirty ratio, among those that are due.
    fn dirtiest(
        &self,
        now: Timestamp,
        deferred: &mut Deferred,
    ) -> Result<Option<Candidate>, StorageError> {
        let high_watermarks = (self.listener.high_watermarks)();
        let mut dirtiest: Option<Candidate> = None;
        for log in self.compacted_logs() {
            if deferred.has(&log) {
                continue;
            }
            let candidate = match self.candidate(&log, &high_watermarks, now) {
                Ok(candidate) => candidate.filter(Candidate::is_due),
                Err(error) => {
                    deferred.tolerate(&log, error)?;
                    None
                }
            };
            let Some(candidate) = candidate else { continue };
            let ratio = dirtiest.as_ref().map_or(0.0, Candidate::dirty_ratio);
            if dirtiest.is_none() || candidate.dirty_ratio() > ratio {
                dirtiest = Some(candidate);
            }
        }
        Ok(dirtiest)
    }

    /// A log's candidate; `None` while its high watermark is unknown or its durable point is not
    /// recorded.
    fn candidate(
        &self,
        log: &Arc<Log>,
        high_watermarks: &HighWatermarks,
        now: Timestamp,
    ) -> Result<Option<Candidate>, StorageError> {
        let partition = log.partition();
        let known = self.directory.topic_id_of(partition).and_then(|topic_id| {
            high_watermark(&self.directory, high_watermarks, partition, topic_id)
        });
        let durable = self.directory.recorded_durable_point(partition);
        let Some((high_watermark, durable)) = known.zip(durable) else { return Ok(None) };
        let bounds = Bounds { below: high_watermark.min(durable), now };
        Candidate::of(log, bounds).map(Some)
    }

    fn compacted_logs(&self) -> impl Iterator<Item = Arc<Log>> {
        let logs = self.directory.open_logs().into_iter();
        logs.filter(|log| log.config().cleanup_policy.compact)
    }

    /// Counts bytes that were read, and waits to keep to the rate. Returns false if the thread must
    /// stop.
    fn keep_going(&self, pace: &Pace, bytes: u64) -> bool {
        pace.bytes.set(pace.bytes.get() + bytes);
        let Some(rate) = self.options.rate else { return !*self.lock() };
        let worth = u128::from(pace.bytes.get()) * 1_000_000_000 / u128::from(rate.0.max(1));
        let worth = Duration::from_nanos(u64::try_from(worth).unwrap_or(u64::MAX));
        let elapsed = self.clock.monotonic().saturating_sub(pace.began);
        let ahead = worth.saturating_sub(elapsed);
        if ahead < WAIT_MIN { !*self.lock() } else { self.wait(ahead) }
    }
}

/// Returns true if the active segment holds so many commits that compacting them returns the space
/// that they have taken from the reserve.
fn has_commits(log: &Log) -> bool {
    log.partition().topic.is_internal() && log.tail().active_size() >= COMMITS_MIN
}

impl Deferred {
    fn has(&self, log: &Arc<Log>) -> bool {
        let is_it = |known: &Weak<Log>| std::ptr::eq(known.as_ptr(), Arc::as_ptr(log));
        let is_damaged = self.damaged.iter().any(|(known, stretches)| {
            is_it(known) && unskipped(log).is_none_or(|now| now >= *stretches)
        });
        is_damaged || self.until_next_check.iter().any(is_it)
    }

    /// Defers a log that cannot be compacted. Returns the error if it leaves the disk's content
    /// unknown.
    fn tolerate(&mut self, log: &Arc<Log>, error: StorageError) -> Result<(), StorageError> {
        let partition = log.partition();
        if matches!(error, StorageError::Corrupt { .. }) {
            tracing::error!(%partition, %error, "not compacted until its damage is skipped");
            self.damaged.retain(|(known, _)| !std::ptr::eq(known.as_ptr(), Arc::as_ptr(log)));
            self.damaged.push((Arc::downgrade(log), unskipped(log).unwrap_or(0)));
        } else if is_local(&error) {
            if !error.is_logged() {
                tracing::warn!(%partition, %error, "compaction is retried later");
            }
            self.until_next_check.push(Arc::downgrade(log));
        } else {
            return Err(error);
        }
        Ok(())
    }
}

/// The number of damaged stretches of a log that the operator has not skipped, if it can be read.
fn unskipped(log: &Log) -> Option<usize> {
    let stretches = LogDamage::of(log).stretches().ok()?;
    Some(stretches.iter().filter(|stretch| !stretch.is_skipped).count())
}

impl Drop for Compactor {
    fn drop(&mut self) {
        self.stop();
    }
}
