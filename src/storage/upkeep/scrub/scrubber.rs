//! The thread that reads every record of a data directory regularly.
//!
//! It reads from the medium and leaves the page cache unchanged. It keeps to its rate, and before
//! each stretch it waits for flushes and readers to finish, but only briefly, so that a broker that
//! is always busy is scrubbed too, more slowly. Damage is treated as if a reader had found it.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::config::{ByteSize, settings};
use crate::io::{Clock, Disk, Worker};
use crate::storage::segments::Medium;
use crate::storage::upkeep::scrub::rounds::{Rounds, Step};
use crate::storage::worker::start_worker;
use crate::storage::{DataDir, Log, StorageError, UpkeepListener};
use crate::types::{Offset, TopicPartition, WithCauses};

settings! {
    /// The interval and the rate at which every record is read to find damage.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ScrubOptions {
        /// The interval in milliseconds in which every record is read from the disk and checked;
        /// -1 disables it.
        #[setting("log.scrub.interval.ms", Long in 1..)]
        interval: Option<Duration> = Some(Duration::from_hours(7 * 24)),
        /// The most bytes that these checks read in a second.
        #[setting("log.scrub.io.max.bytes.per.second", Long in 1 << 16..=1 << 40)]
        rate: ByteSize = ByteSize(16 << 20),
    }
}

/// Returns true if the disk is in use by others.
type Busy = Box<dyn Fn() -> bool + Send + Sync>;

/// Reads every record of a data directory regularly.
pub(in crate::storage::upkeep) struct Scrubber {
    shared: Arc<Shared>,
    /// Never started if the options disable scrubbing.
    thread: Worker,
}

struct Shared {
    directory: Arc<DataDir>,
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    options: ScrubOptions,
    listener: Arc<UpkeepListener>,
    busy: OnceLock<Busy>,
    is_stopping: Mutex<bool>,
    changed: Condvar,
}

/// The broker is stopping, in the middle of a segment.
struct Stopped;

/// The bytes checked before the rate limit and other users are considered again.
const STRETCH: u64 = 512 * 1024;

/// The longest time that a stretch waits for other users of the disk, and the interval of the
/// checks.
const PATIENCE: Duration = Duration::from_millis(100);
const PATIENCE_STEP: Duration = Duration::from_millis(5);

/// The delay after a start, and the interval of checks for new logs.
const LOOK_INTERVAL: Duration = Duration::from_mins(1);

/// The shortest wait: the system overshoots, so shorter ones are left to add up.
const WAIT_MIN: Duration = Duration::from_millis(5);

impl Scrubber {
    /// A scrubber whose thread is not started yet.
    pub(in crate::storage::upkeep) fn new(
        directory: Arc<DataDir>,
        clock: Arc<dyn Clock>,
        options: ScrubOptions,
        listener: Arc<UpkeepListener>,
    ) -> Self {
        let disk = Arc::clone(directory.disk());
        let shared = Arc::new(Shared {
            directory,
            disk,
            clock,
            options,
            listener,
            busy: OnceLock::new(),
            is_stopping: Mutex::new(false),
            changed: Condvar::new(),
        });
        Self { shared, thread: Worker::default() }
    }

    /// Starts the thread, unless the options disable scrubbing.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(in crate::storage::upkeep) fn start(&mut self) -> Result<(), StorageError> {
        let Some(interval) = self.shared.options.interval else { return Ok(()) };
        let (runner, told) = (Arc::clone(&self.shared), Arc::clone(&self.shared.listener));
        let on_fatal = move |error: &StorageError| (told.on_fatal)(error);
        let path = self.shared.directory.path();
        self.thread = start_worker("scrubber", path, on_fatal, move || runner.run(interval))?;
        Ok(())
    }

    /// Yields from now on while `is_busy` returns true.
    pub(in crate::storage::upkeep) fn yield_to(&self, is_busy: Busy) {
        let _ = self.shared.busy.set(is_busy);
    }

    /// Ends the thread after the current stretch.
    pub(in crate::storage::upkeep) fn stop(&self) {
        *self.shared.lock() = true;
        self.shared.changed.notify_one();
        self.thread.join();
    }
}

impl Drop for Scrubber {
    fn drop(&mut self) {
        self.stop();
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

    fn run(&self, interval: Duration) {
        let dir = self.directory.path();
        let mut rounds = Rounds::load(&*self.disk, dir).unwrap_or_else(|error| {
            tracing::warn!(%error, "the scrubber begins again with every log");
            Rounds::default()
        });
        let mut rest = interval.min(LOOK_INTERVAL);
        let mut refresh_at = Duration::ZERO;
        while self.wait(rest) {
            rest = Duration::ZERO;
            let (now, elapsed) = (self.clock.now(), self.clock.monotonic());
            if elapsed >= refresh_at {
                rounds.match_with(&self.partitions(), now);
                note_progress(rounds.store(&*self.disk, dir));
                refresh_at = elapsed.saturating_add(LOOK_INTERVAL.min(interval));
            }
            match rounds.next(interval, now) {
                Step::Wait(time) => rest = time.min(LOOK_INTERVAL),
                Step::Check { partition, from } => match self.check(&partition, from) {
                    Ok(next) => rounds.checked(&partition, next),
                    Err(Stopped) => break,
                },
            }
        }
        note_progress(rounds.store(&*self.disk, dir));
    }

    /// The partitions that have a log, sorted.
    fn partitions(&self) -> Vec<TopicPartition> {
        let partitions = self.directory.partitions().into_iter();
        let mut partitions: Vec<_> = partitions.map(|(partition, _)| partition).collect();
        partitions.sort();
        partitions
    }

    /// Checks a segment of a log and returns the start of the next one; `None` at the end of the
    /// log.
    fn check(&self, partition: &TopicPartition, from: Offset) -> Result<Option<Offset>, Stopped> {
        let log = match self.directory.log(partition) {
            Ok(Some(log)) => log,
            Ok(None) => return Ok(None),
            Err(error) => {
                let error = WithCauses(&error);
                tracing::warn!(%partition, %error, "a log that cannot be opened is not scrubbed");
                return Ok(None);
            }
        };
        let bases = log.checks().segment_bases();
        let number = bases.partition_point(|base| *base < from);
        let Some(base) = bases.get(number) else { return Ok(None) };
        let next = bases.get(number + 1).copied();
        match self.check_segment(&log, *base, next.is_none()) {
            Ok(Some(Stopped)) => Err(Stopped),
            Ok(None) => Ok(next),
            Err(error) if error.is_logged() => Ok(next),
            Err(error) => {
                let error = WithCauses(&error);
                tracing::error!(
                    %partition, segment = %base, %error,
                    "a segment cannot be read; restore it from a backup, or check the disk"
                );
                Ok(next)
            }
        }
    }

    /// Checks a segment; the last one of its log may still grow.
    fn check_segment(
        &self,
        log: &Arc<Log>,
        base: Offset,
        is_last: bool,
    ) -> Result<Option<Stopped>, StorageError> {
        let segments = log.segments();
        let segment = segments.iter().find(|segment| segment.base() == base);
        let check = log.checks().check_segment(base, Medium::Disk)?;
        let Some((segment, mut check)) = segment.zip(check) else { return Ok(None) };
        if is_last {
            // Only this flush brings the batches that the check expects to the medium.
            log.flush()?;
        }
        let began = self.clock.monotonic();
        while !check.is_done() {
            if !self.yield_to_others() {
                return Ok(Some(Stopped));
            }
            let found = check.advance(check.position() + STRETCH)?;
            if !found.is_empty()
                && let Some(_hold) = self.directory.hold(log)
            {
                // A segment that was replaced meanwhile is checked again; a removed one need not
                // be.
                if log.segments().iter().any(|now| Arc::ptr_eq(now, segment)) {
                    log.context().record_damage(&found);
                }
            }
            if !self.keep_to_rate(began, check.position()) {
                return Ok(Some(Stopped));
            }
        }
        if let Some(_hold) = self.directory.hold(log) {
            log.checks().keep_digests(&check);
        }
        Ok(None)
    }

    /// Waits while others use the disk, up to a limit. Returns false if the thread must stop.
    fn yield_to_others(&self) -> bool {
        let mut waited = Duration::ZERO;
        while waited < PATIENCE && self.busy.get().is_some_and(|is_busy| is_busy()) {
            if !self.wait(PATIENCE_STEP) {
                return false;
            }
            waited += PATIENCE_STEP;
        }
        !*self.lock()
    }

    /// Waits to keep to the rate after `bytes`. Returns false if the thread must stop.
    fn keep_to_rate(&self, began: Duration, bytes: u64) -> bool {
        let worth = u128::from(bytes) * 1_000_000_000 / u128::from(self.options.rate.0.max(1));
        let worth = Duration::from_nanos(u64::try_from(worth).unwrap_or(u64::MAX));
        let elapsed = self.clock.monotonic().saturating_sub(began);
        let ahead = worth.saturating_sub(elapsed);
        if ahead < WAIT_MIN { !*self.lock() } else { self.wait(ahead) }
    }
}

/// Logs a failure to store the position, which is only a hint: without it a restart checks more.
fn note_progress(stored: io::Result<()>) {
    stored.unwrap_or_else(|error| {
        tracing::warn!(%error, "the scrubber's position is not on disk");
    });
}
