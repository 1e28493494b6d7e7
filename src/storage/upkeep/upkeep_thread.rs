//! The maintenance thread of a data directory.
//!
//! It sleeps until a step is due. A failed sync is fatal, as for a flush: it is reported, and the
//! thread ends. Other errors, for want of space or descriptors or because bytes cannot be read,
//! only delay the step until its next attempt.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::io::{Clock, Worker};
use crate::storage::upkeep::age_clock::AgeClock;
use crate::storage::upkeep::compactor::Compactor;
use crate::storage::upkeep::listener::UpkeepListener;
use crate::storage::upkeep::passes::{expired, is_local, limit_total_size, retain, tolerate};
use crate::storage::upkeep::relief::{RELIEF_INTERVAL, Relief};
use crate::storage::upkeep::schedule::{Schedule, Step, UpkeepOptions};
use crate::storage::upkeep::scrub::Scrubber;
use crate::storage::worker::start_worker;
use crate::storage::{DataDir, Removed, StorageError};
use crate::types::WithCauses;

/// The interval at which the wall time is recorded, while records are flushed or at retention.
const TIME_INTERVAL: Duration = Duration::from_mins(1);

/// The interval at which the log states what an untrusted clock would remove.
const DISTRUST_INTERVAL: Duration = Duration::from_mins(10);

/// Maintains a data directory.
pub struct Upkeep {
    shared: Arc<Shared>,
    thread: Worker,
    compactor: Compactor,
    scrubber: Scrubber,
}

struct Shared {
    directory: Arc<DataDir>,
    clock: Arc<dyn Clock>,
    ages: Arc<AgeClock>,
    options: UpkeepOptions,
    listener: Arc<UpkeepListener>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    schedule: Schedule,
    /// The next time at which the wall time is recorded, by the monotonic clock.
    record_time_at: Duration,
    /// The next time of a log line about an untrusted clock, by the monotonic clock.
    report_distrust_at: Duration,
    stopping: bool,
    /// True if the end of the threads must leave nothing on the disk.
    is_abandoned: bool,
}

impl Upkeep {
    /// Starts the threads; compaction and scrubbing have threads of their own, since they may take
    /// long.
    ///
    /// # Errors
    /// If the system cannot start a thread, or the reserve cannot be restored.
    pub fn start(
        directory: Arc<DataDir>,
        clock: Arc<dyn Clock>,
        options: UpkeepOptions,
        listener: UpkeepListener,
    ) -> Result<Self, StorageError> {
        let mut upkeep = Self::without_threads(directory, clock, options, listener)?;
        upkeep.compactor.start()?;
        upkeep.scrubber.start()?;
        let (runner, told) = (Arc::clone(&upkeep.shared), Arc::clone(&upkeep.shared.listener));
        let on_fatal = move |error: &StorageError| (told.on_fatal)(error);
        let path = upkeep.shared.directory.path();
        upkeep.thread = start_worker("upkeep", path, on_fatal, move || runner.run())?;
        Ok(upkeep)
    }

    /// Maintenance that does nothing by itself: `run_due` does the work of the maintenance thread.
    ///
    /// # Errors
    /// If the reserve cannot be restored.
    pub fn without_threads(
        directory: Arc<DataDir>,
        clock: Arc<dyn Clock>,
        options: UpkeepOptions,
        listener: UpkeepListener,
    ) -> Result<Self, StorageError> {
        let now = clock.monotonic();
        let last_known = directory.last_known_time();
        let ages = AgeClock::start(Arc::clone(&clock), options.retention_grace, last_known);
        let ages = Arc::new(ages);
        let mut schedule = Schedule::new(options, now);
        if ages.untrusted().is_some() {
            schedule.hurry_retention(now);
        }
        let listener = Arc::new(listener);
        let compactor = Compactor::new(
            Arc::clone(&directory),
            Arc::clone(&clock),
            Arc::clone(&ages),
            options.compaction,
            Arc::clone(&listener),
        );
        let scrubber = Scrubber::new(
            Arc::clone(&directory),
            Arc::clone(&clock),
            options.scrub,
            Arc::clone(&listener),
        );
        let state = Mutex::new(State {
            schedule,
            record_time_at: now,
            report_distrust_at: now,
            stopping: false,
            is_abandoned: false,
        });
        let shared = Arc::new(Shared {
            directory,
            clock,
            ages,
            options,
            listener,
            state,
            changed: Condvar::new(),
        });
        let informed = Arc::downgrade(&shared);
        shared.directory.on_shortage(move || {
            if let Some(shared) = informed.upgrade() {
                shared.relieve_at(shared.clock.monotonic());
            }
        });
        shared.restore_reserve()?;
        Ok(Self { shared, thread: Worker::default(), compactor, scrubber })
    }

    /// Runs all due steps on the calling thread, except for compaction and scrubbing.
    #[cfg(any(test, feature = "internals"))]
    pub fn run_due(&self) {
        let mut relief = Relief::default();
        loop {
            let now = self.shared.clock.monotonic();
            let step = self.shared.lock().schedule.next(now);
            let is_waiting = matches!(step, Step::WaitUntil(_));
            if is_waiting || !self.shared.take(step, &mut relief) {
                return;
            }
        }
    }

    /// Makes the scrubber yield, from now on, while `is_busy` returns true.
    pub fn yield_to(&self, is_busy: impl Fn() -> bool + Send + Sync + 'static) {
        self.scrubber.yield_to(Box::new(is_busy));
    }

    /// The clock for removal by age.
    pub fn ages(&self) -> &Arc<AgeClock> {
        &self.shared.ages
    }

    /// Reports flushed bytes, which makes a checkpoint due soon.
    pub fn flushed(&self, bytes: u64) {
        let now = self.shared.clock.monotonic();
        if self.shared.lock().schedule.flushed(bytes, now) {
            self.shared.changed.notify_one();
        }
    }

    /// Reports that a log was removed from the directory, which makes its files due for deletion.
    pub fn log_removed(&self) {
        let now = self.shared.clock.monotonic();
        if self.shared.lock().schedule.remove_at(now) {
            self.shared.changed.notify_one();
        }
    }

    /// Ends the threads as [`stop`](Self::stop), but writes nothing more: the disk has failed, or
    /// belongs to another process.
    pub fn abandon(&self) {
        self.shared.lock().is_abandoned = true;
        self.stop();
    }

    /// Ends the threads after their current step; a compaction continues at the next start.
    pub fn stop(&self) {
        self.compactor.stop();
        self.scrubber.stop();
        self.shared.lock().stopping = true;
        self.shared.changed.notify_one();
        self.thread.join();
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Upkeep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Upkeep({:?}, {:?})", self.shared.directory, self.shared.lock().schedule)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut relief = Relief::default();
        let mut state = self.lock();
        while !state.stopping {
            let now = self.clock.monotonic();
            let step = state.schedule.next(now);
            if let Step::WaitUntil(due) = step {
                let woken = self.changed.wait_timeout(state, due.saturating_sub(now));
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            drop(state);
            if !self.take(step, &mut relief) {
                return;
            }
            state = self.lock();
        }
        let is_abandoned = state.is_abandoned;
        drop(state);
        if !is_abandoned {
            self.record_time();
        }
    }

    /// Takes a step. Returns false if none may follow, because the disk has failed.
    fn take(&self, step: Step, relief: &mut Relief) -> bool {
        let done = match step {
            Step::Checkpoint => self.checkpoint(),
            Step::Retention => self.retention(),
            Step::Removal => self.removal(self.clock.monotonic()),
            Step::Relief => self.relieve(relief),
            Step::WaitUntil(_) => Ok(()),
        };
        match done {
            Err(error) if error.is_logged() && is_local(&error) => {}
            Err(error) if is_local(&error) => {
                tracing::warn!(error = %WithCauses(&error), "maintenance is retried later");
            }
            Err(error) => {
                (self.listener.on_fatal)(&error);
                return false;
            }
            Ok(()) => {}
        }
        true
    }

    /// Records the wall time, if it is trusted; if writing fails now, a later call writes it.
    fn record_time(&self) {
        let Some(time) = self.ages.now() else { return };
        self.lock().record_time_at = self.clock.monotonic().saturating_add(TIME_INTERVAL);
        if let Err(error) = self.directory.record_time(time) {
            tracing::warn!(error = %WithCauses(&error), "cannot record the wall time");
        }
    }

    /// Returns true if the log must state again what the untrusted clock would remove.
    fn may_report_distrust(&self) -> bool {
        let now = self.clock.monotonic();
        let mut state = self.lock();
        let is_due = state.report_distrust_at <= now;
        if is_due {
            state.report_distrust_at = now.saturating_add(DISTRUST_INTERVAL);
        }
        is_due
    }

    fn record_time_if_due(&self) {
        if self.lock().record_time_at <= self.clock.monotonic() {
            self.record_time();
        }
    }

    fn checkpoint(&self) -> Result<(), StorageError> {
        match self.directory.checkpoint(&(self.listener.high_watermarks)()) {
            Err(error) if is_local(&error) => {
                if !error.is_logged() {
                    tracing::warn!(error = %WithCauses(&error), "checkpoints are written later");
                }
                self.lock().schedule.flushed(0, self.clock.monotonic());
                Ok(())
            }
            done => {
                self.record_time_if_due();
                done
            }
        }
    }

    fn retention(&self) -> Result<(), StorageError> {
        let high_watermarks = (self.listener.high_watermarks)();
        self.directory.release_idle_memory();
        let now = self.ages.now();
        if now.is_some() {
            self.record_time_if_due();
            for log in self.directory.open_logs() {
                log.tail().expire_producers();
            }
        } else if let Some((wall, left)) =
            self.ages.untrusted().filter(|_| self.may_report_distrust())
        {
            let Removed { segments, bytes } = expired(&self.directory, &high_watermarks, wall)?;
            let left = Duration::from_secs(left.as_secs());
            tracing::warn!(
                segments,
                bytes,
                "the wall clock is not trusted: these segments are too old by it, and are removed \
                 in {left:?} unless it is corrected"
            );
        }
        let mut removed = retain(&self.directory, &high_watermarks, now)?;
        if let Some(size_max) = self.options.size_max {
            let Removed { segments, bytes } =
                limit_total_size(&self.directory, &high_watermarks, size_max)?;
            removed.segments += segments;
            removed.bytes += bytes;
        }
        if removed.segments > 0 {
            tracing::info!(removed.segments, removed.bytes, "retention");
            self.checkpoint()?;
        }
        self.removal(self.clock.monotonic())?;
        // The size of the reserve depends on the number of logs.
        self.restore_reserve().map(drop)
    }

    /// Frees space on a full disk, as far as that is possible without an operator.
    fn relieve(&self, relief: &mut Relief) -> Result<(), StorageError> {
        let now = self.clock.monotonic();
        // On a full disk, deleted data is not kept for its grace period.
        self.removal(Duration::MAX)?;
        if relief.takes_retention(now) {
            self.retention()?;
            self.removal(Duration::MAX)?;
        }
        let is_refusing = self.directory.take_refusal();
        if self.restore_reserve()? && !is_refusing {
            if relief.ends() {
                let dir = self.directory.path().display();
                tracing::info!(%dir, "the disk has space again: records are accepted");
            }
        } else if relief.takes_log_line(now) {
            let (missing, whole) = self.directory.reserve_missing();
            let free = self.directory.space()?.free;
            tracing::error!(
                dir = %self.directory.path().display(), free, missing, whole,
                "the disk is full: records are refused until the reserve is complete again; free \
                 some space, delete topics or records, or shorten retention"
            );
        }
        Ok(())
    }

    /// Refills the reserve as far as there is space, and schedules another attempt if it is not
    /// full.
    fn restore_reserve(&self) -> Result<bool, StorageError> {
        let is_whole = self.directory.restore_reserve()?;
        if !is_whole {
            self.relieve_at(self.clock.monotonic().saturating_add(RELIEF_INTERVAL));
        }
        Ok(is_whole)
    }

    fn relieve_at(&self, due: Duration) {
        if self.lock().schedule.relieve_at(due) {
            self.changed.notify_one();
        }
    }

    /// Deletes the files that are due at `now`.
    fn removal(&self, now: Duration) -> Result<(), StorageError> {
        let mut next = self.directory.remove_due(now)?;
        for log in self.directory.open_logs() {
            let Some(_hold) = self.directory.hold(&log) else { continue };
            tolerate(log.partition(), log.retention().remove_deleted(now))?;
            next = next.into_iter().chain(log.retention().removal_due()).min();
        }
        if let Some(due) = next {
            self.lock().schedule.remove_at(due);
        }
        Ok(())
    }
}
