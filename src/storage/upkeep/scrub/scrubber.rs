//! The thread that reads every record of a data directory regularly.
//!
//! It reads from the medium and leaves the page cache unchanged. It spreads its reads over half of
//! the interval. Before each stretch it waits for flushes and readers to finish, but only briefly:
//! a broker that is always busy is scrubbed too, more slowly. Damage is treated as if a reader had
//! found it.

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
        /// The most bytes that these checks read in a second; they spread their reads over half of
        /// the interval.
        #[setting("log.scrub.io.max.bytes.per.second", Long in 1 << 16..=1 << 40)]
        rate: ByteSize = ByteSize(16 << 20),
    }
}

/// A function that returns true while flushes or readers use the disk.
type Busy = Box<dyn Fn() -> bool + Send + Sync>;

/// Reads every record of a data directory regularly.
pub(in crate::storage::upkeep) struct Scrubber {
    shared: Arc<Shared>,
    /// The thread that reads; never started if the options disable scrubbing.
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

/// The scrubber was stopped in the middle of a segment.
struct Stopped;

/// The bytes checked before the rate limit and other users are considered again.
const STRETCH: u64 = 512 * 1024;

/// The longest time that a stretch waits for other users of the disk. Every `PATIENCE_STEP` it
/// checks whether they are done.
const PATIENCE: Duration = Duration::from_millis(100);
const PATIENCE_STEP: Duration = Duration::from_millis(5);

/// The delay after a start, and the interval of checks for new logs.
const LOOK_INTERVAL: Duration = Duration::from_mins(1);

/// The lowest rate in bytes a second, at which a segment of 1 GiB takes 9 minutes. A restart
/// repeats the segment that it interrupts.
const RATE_MIN: u64 = 2 << 20;

/// The shortest wait. A sleep lasts longer than asked for, so shorter waits are added up first.
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
        let mut rate = self.options.rate.0;
        while self.wait(rest) {
            rest = Duration::ZERO;
            let (now, elapsed) = (self.clock.now(), self.clock.monotonic());
            if elapsed >= refresh_at {
                rounds.match_with(&self.partitions(), now);
                rate = rate_for(self.bytes_used(), interval, self.options.rate.0);
                note_progress(rounds.store(&*self.disk, dir));
                refresh_at = elapsed.saturating_add(LOOK_INTERVAL.min(interval));
            }
            match rounds.next(interval, now) {
                Step::Wait(time) => rest = time.min(LOOK_INTERVAL),
                Step::Check { partition, from } => match self.check(&partition, from, rate) {
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

    /// The number of bytes used on the file system of the data directory, an upper bound of the
    /// bytes to read; `None` if the disk does not tell.
    fn bytes_used(&self) -> Option<u64> {
        let dir = self.directory.path();
        let (total, free) = (self.disk.total_bytes(dir).ok()?, self.disk.free_bytes(dir).ok()?);
        Some(total.saturating_sub(free))
    }

    /// Checks a segment of a log at `rate` bytes a second and returns the start of the next one;
    /// `None` at the end of the log.
    fn check(
        &self,
        partition: &TopicPartition,
        from: Offset,
        rate: u64,
    ) -> Result<Option<Offset>, Stopped> {
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
        match self.check_segment(&log, (*base, next), rate) {
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

    /// Checks the segment from `base` to `next`; without `next` it is the last one of its log, and
    /// may still grow.
    fn check_segment(
        &self,
        log: &Arc<Log>,
        (base, next): (Offset, Option<Offset>),
        rate: u64,
    ) -> Result<Option<Stopped>, StorageError> {
        let Some(mut check) = log.checks().check_segment(base, Medium::Disk)? else {
            return Ok(None);
        };
        if next.is_none() {
            // Flush after the check has taken the size of the segment: it expects all batches below
            // that size on the medium.
            log.flush()?;
        }
        let began = self.clock.monotonic();
        while !check.is_done() {
            if !self.yield_to_others() {
                return Ok(Some(Stopped));
            }
            let found = check.advance(check.position() + STRETCH)?;
            if !found.is_empty() {
                let Some(_hold) = self.directory.hold(log) else { return Ok(None) };
                if !log.checks().record(&check, &found) {
                    // A replacement, or what has grown since a truncation, is checked later.
                    break;
                }
            }
            if !self.keep_to_rate(rate, began, check.position()) {
                return Ok(Some(Stopped));
            }
        }
        if let Some(_hold) = self.directory.hold(log) {
            log.checks().keep_digests(&check);
        }
        Ok(None)
    }

    /// Waits while flushes or readers use the disk, up to a limit. Returns false if the thread must
    /// stop.
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

    /// Waits to keep to `rate` after `bytes`. Returns false if the thread must stop.
    fn keep_to_rate(&self, rate: u64, began: Duration, bytes: u64) -> bool {
        let worth = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
        let worth = Duration::from_nanos(u64::try_from(worth).unwrap_or(u64::MAX));
        let elapsed = self.clock.monotonic().saturating_sub(began);
        let ahead = worth.saturating_sub(elapsed);
        if ahead < WAIT_MIN { !*self.lock() } else { self.wait(ahead) }
    }
}

/// The rate in bytes a second at which `used` bytes are read in half of the interval, at least
/// `RATE_MIN` and at most `rate_max`. If `used` is unknown, it is `rate_max`.
///
/// A lower rate is better: reads at the highest rate would raise the latency of producers while
/// they last.
fn rate_for(used: Option<u64>, interval: Duration, rate_max: u64) -> u64 {
    let Some(used) = used else { return rate_max };
    let rate = u128::from(used) * 2_000 / interval.as_millis().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX).max(RATE_MIN).min(rate_max)
}

/// Logs a failure to store the position, which is only a hint: without it a restart checks more.
fn note_progress(stored: io::Result<()>) {
    stored.unwrap_or_else(|error| {
        tracing::warn!(%error, "the scrubber's position is not on disk");
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_spread_over_half_the_interval() {
        let week = Duration::from_hours(7 * 24);
        let rate = |used| rate_for(used, week, 16 << 20);
        assert_eq!(rate(Some(4 << 40)), (4 << 40) * 2 / (7 * 24 * 3600), "4 TiB in 3.5 days");
        assert_eq!(rate(Some(100 << 40)), 16 << 20, "never above the setting");
        assert_eq!(rate(Some(1 << 30)), RATE_MIN, "a restart must not repeat hours of work");
        assert_eq!(rate(None), 16 << 20);
        assert_eq!(rate_for(Some(1 << 30), Duration::from_millis(1), 16 << 20), 16 << 20);
        assert_eq!(rate_for(Some(1 << 30), week, 1 << 16), 1 << 16, "even below the lowest rate");
    }
}
