//! The threads that flush the logs of a data directory.
//!
//! After an append, [`Flusher::schedule`] queues the log; a thread flushes it when it is due and
//! reports each flushed offset. Few logs are flushed one by one; many at once by a single sync of
//! the file system. A failed sync is reported as fatal and never repeated, because the kernel
//! reports a failed write-back only once. A flush whose sync could not be tried, for want of a
//! descriptor, is tried again after a pause; a log that failed for another reason is not flushed
//! again. With nothing unflushed no thread wakes up. Slow files do not delay others:
//! `flush_slots.rs` decides when an additional thread flushes.
//!
//! A removed or replaced directory or file still takes writes and syncs, but its records could
//! never be found again. So each flush checks the names, and so do the appends to a log that are
//! acknowledged without a flush, about once a second.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::config::{ByteSize, settings};
use crate::io::{
    Clock, Disk, Inode, Worker, World, is_failed_sync, require_dir_in_place, same_error,
};
use crate::storage::flusher::flush_queue::{Ending, FlushQueue, Job, Next};
use crate::storage::flusher::flush_slots::{FlushSlots, SlotDecision};
use crate::storage::worker::start_worker;
use crate::storage::{FlushTicket, Log, StorageError};
use crate::types::{Offset, TopicPartition};

settings! {
    /// The options of a flusher.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FlusherOptions {
        /// Bytes appended and not flushed, over all logs, beyond which producers wait.
        #[setting("unflushed.max.bytes", Long in 1 << 20..=1 << 40)]
        budget: ByteSize = ByteSize(64 << 20),
        /// Threads that flush logs.
        // More threads are started if all of them are stuck.
        #[setting("flush.threads", Int in 1..=64)]
        threads: usize = 4,
    }
}

/// The callbacks of a flusher. Called on its threads, without a lock held.
///
/// A broker uses `on_flushed` only to inform its upkeep. High watermarks follow from the listener
/// of each log instead, in `storage/log/flush_turn.rs`.
pub struct FlushListener {
    /// Called when a log's flushed offset has advanced.
    pub on_flushed: Box<dyn Fn(&Flushed<'_>) + Send + Sync>,
    /// Called if a sync failed, the directory or a file in use was removed or replaced, or a thread
    /// has panicked.
    pub on_fatal: Box<dyn Fn(&StorageError) + Send + Sync>,
}

/// A flush that succeeded.
#[derive(Debug)]
#[cfg_attr(
    not(any(test, feature = "internals")),
    expect(dead_code, reason = "tests look at each flush")
)]
pub struct Flushed<'a> {
    /// The log.
    pub log: &'a Arc<Log>,
    /// The offset below which everything is on the disk.
    pub offset: Offset,
    /// The bytes that this flush made durable.
    pub bytes: u64,
}

/// The pause before another attempt at a flush whose sync could not be tried.
const POSTPONED_PAUSE: Duration = Duration::from_millis(100);

/// Flushes the logs of a data directory.
pub struct Flusher {
    shared: Arc<Shared>,
}

struct Shared {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    dir: PathBuf,
    /// The identity of `dir` at the start. The directory's lock keeps it open, so that the system
    /// does not give its identity to another directory.
    inode: Inode,
    listener: FlushListener,
    state: Mutex<State>,
    /// Wakes a flusher thread.
    work: Condvar,
    /// Wakes threads that wait for the budget; `budget_freed_for_tasks` wakes tasks.
    budget_freed: Condvar,
    budget_freed_for_tasks: Notify,
    over_budget: AtomicBool,
    /// True if the file system's descriptor was open before the writes that its next sync covers.
    armed: AtomicBool,
    /// Locked after the state.
    threads: Mutex<Vec<Worker>>,
}

#[derive(Debug)]
struct State {
    queue: FlushQueue<Arc<Log>>,
    slots: FlushSlots,
    /// The time until which a thread waits; the other threads wait to be notified.
    timer: Option<Duration>,
    stopping: bool,
}

impl Flusher {
    /// Starts the threads.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(
        world: World,
        dir: &Path,
        options: FlusherOptions,
        listener: FlushListener,
    ) -> Result<Self, StorageError> {
        let flusher = Self::without_threads(world, dir, options, listener)?;
        (0..options.threads.max(1)).try_for_each(|_| flusher.shared.start_thread())?;
        Ok(flusher)
    }

    /// A flusher that flushes nothing by itself: `flush_next` does the work of its threads.
    ///
    /// # Errors
    /// If the directory cannot be found.
    pub fn without_threads(
        World { disk, clock }: World,
        dir: &Path,
        options: FlusherOptions,
        listener: FlushListener,
    ) -> Result<Self, StorageError> {
        let queue = FlushQueue::new(options.budget.0);
        let slots = FlushSlots::new(options.threads.max(1));
        let inode = disk.inode(dir).map_err(|source| StorageError::io("look for", dir, source))?;
        let shared = Arc::new(Shared {
            disk,
            clock,
            dir: dir.to_owned(),
            inode,
            listener,
            state: Mutex::new(State { queue, slots, timer: None, stopping: false }),
            work: Condvar::new(),
            budget_freed: Condvar::new(),
            budget_freed_for_tasks: Notify::new(),
            over_budget: AtomicBool::new(false),
            armed: AtomicBool::new(false),
            threads: Mutex::default(),
        });
        Ok(Self { shared })
    }

    /// Flushes the next log that is due, or all if many are due, and awaits `pause` before each
    /// sync and after it. Returns the first log's partition; `None` if none is due.
    ///
    /// Until it returns, another flush of these logs by the same thread would wait for ever.
    #[cfg(any(test, feature = "internals"))]
    pub async fn flush_next(&self, pause: impl AsyncFn(&TopicPartition)) -> Option<TopicPartition> {
        let jobs = {
            let (mut state, now) = (self.shared.lock(), self.shared.clock.monotonic());
            let Next::Flush(jobs) = state.queue.next(now) else { return None };
            state.slots.begin();
            jobs
        };
        let mut results = Vec::new();
        for job in &jobs {
            results.push(flush_slowly(&job.log, &pause).await);
        }
        self.shared.finish(&jobs, &results);
        jobs.into_iter().next().map(|job| job.partition)
    }

    /// Schedules the unflushed records of a log according to its settings. Call it after each
    /// append, and, with `awaited`, when a response or a fetch begins to wait.
    pub fn schedule(&self, log: &Arc<Log>, awaited: bool) {
        let Some(unflushed) = log.flushes().unflushed() else { return };
        let on_demand = awaited && log.config().flush_on_demand;
        let due = if on_demand { self.shared.clock.monotonic() } else { unflushed.due };
        self.shared.change(|queue| queue.schedule(log.partition(), log, unflushed.bytes, due));
    }

    /// As `schedule`, at once and whatever the settings. Does not wait for the log.
    pub fn flush_soon(&self, log: &Arc<Log>) {
        self.shared.change(|queue| queue.schedule(log.partition(), log, 0, Duration::ZERO));
    }

    /// Removes a log that is being deleted.
    pub fn forget(&self, partition: &TopicPartition) {
        self.shared.change(|queue| queue.forget(partition));
    }

    /// Fails unless the names of the directory and the log's file still refer to the open ones.
    /// Call it after an append that is acknowledged before its flush. Checks once a second at most.
    ///
    /// # Errors
    /// If one of them was removed or replaced, which is also reported as fatal.
    pub fn confirm(&self, log: &Arc<Log>) -> Result<(), StorageError> {
        if !log.flushes().is_check_due(self.shared.clock.monotonic()) {
            return Ok(());
        }
        let dir = &self.shared.dir;
        let kept = self.shared.require_in_place();
        let kept = kept.map_err(|source| StorageError::io("keep", dir, source));
        kept.and_then(|()| log.flushes().require_in_place()).inspect_err(|error| {
            if error.leaves_disk_unknown() {
                log.fail(error);
                (self.shared.listener.on_fatal)(error);
            }
        })
    }

    /// Returns true if a log is being flushed, or is due.
    pub fn is_busy(&self) -> bool {
        let now = self.shared.clock.monotonic();
        self.shared.lock().queue.is_busy(now)
    }

    /// Returns true if producers must wait.
    pub fn is_over_budget(&self) -> bool {
        self.shared.over_budget.load(Ordering::Acquire)
    }

    /// Waits, as a task, until producers may continue.
    pub async fn budget_available(&self) {
        loop {
            let notified = self.shared.budget_freed_for_tasks.notified();
            tokio::pin!(notified);
            // From here on no notification is missed.
            notified.as_mut().enable();
            if !self.is_over_budget() {
                return;
            }
            notified.await;
        }
    }

    /// Waits, as a thread, until producers may continue or the flusher stops.
    pub fn wait_for_budget(&self) {
        let state = self.shared.lock();
        let blocked = |state: &mut State| state.queue.is_over_budget() && !state.stopping;
        drop(
            self.shared
                .budget_freed
                .wait_while(state, blocked)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    /// Bytes appended and not flushed.
    #[cfg(any(test, feature = "internals"))]
    pub fn unflushed_bytes(&self) -> u64 {
        self.shared.lock().queue.unflushed_bytes()
    }

    /// The logs whose flush has failed.
    #[cfg(any(test, feature = "internals"))]
    pub fn failed(&self) -> Vec<TopicPartition> {
        self.shared.lock().queue.failed().cloned().collect()
    }

    /// Ends the threads after the flushes in progress. The caller deals with records that are still
    /// unflushed.
    pub fn stop(&self) {
        self.shared.lock().stopping = true;
        self.shared.work.notify_all();
        self.shared.budget_freed.notify_all();
        let threads = std::mem::take(&mut *self.shared.lock_threads());
        for thread in threads {
            thread.join();
        }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Flusher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Flusher({}, {:?})", self.shared.dir.display(), *self.shared.lock())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the queue, and notifies a thread if a log is due earlier now.
    fn change(&self, change: impl FnOnce(&mut FlushQueue<Arc<Log>>)) {
        let mut state = self.lock();
        let before = state.queue.earliest();
        change(&mut state.queue);
        let after = state.queue.earliest();
        self.note_budget(&state);
        // While all slots are taken, a single thread that checks for stuck flushes is enough.
        let is_heard = state.slots.is_free() || !state.slots.is_watched();
        drop(state);
        if is_heard && after.is_some_and(|after| before.is_none_or(|before| after < before)) {
            self.work.notify_one();
        }
    }

    fn lock_threads(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_thread(self: &Arc<Self>) -> Result<(), StorageError> {
        let (shared, told) = (Arc::clone(self), Arc::clone(self));
        let mut threads = self.lock_threads();
        let name = format!("flusher-{}", threads.len());
        let on_fatal = move |error: &StorageError| (told.listener.on_fatal)(error);
        threads.push(start_worker(&name, &self.dir, on_fatal, move || shared.run())?);
        Ok(())
    }

    /// Makes sure that an idle thread is left to detect stuck flushes.
    fn keep_one_idle(self: &Arc<Self>, state: &State) {
        if state.slots.busy() < self.lock_threads().len() {
            return;
        }
        if let Err(error) = self.start_thread() {
            // The existing threads go on flushing until all of them are stuck.
            tracing::warn!(%error, "slow files may delay the flushes of others");
        }
    }

    fn note_budget(&self, state: &State) {
        let over = state.queue.is_over_budget();
        if self.over_budget.swap(over, Ordering::AcqRel) && !over {
            self.budget_freed.notify_all();
            self.budget_freed_for_tasks.notify_waiters();
        }
    }

    fn run(self: &Arc<Self>) {
        let mut state = self.lock();
        while !state.stopping {
            let now = self.clock.monotonic();
            let decision =
                if state.queue.has_due(now) { state.slots.decide(now) } else { SlotDecision::Take };
            state = match decision {
                SlotDecision::Take => self.flush_or_wait(state, now),
                SlotDecision::CheckAgainAfter(wait) => {
                    let woken = self.work.wait_timeout(state, wait);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                SlotDecision::Wait => self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Flushes the logs that are due, or waits until one is.
    fn flush_or_wait<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State>,
        now: Duration,
    ) -> MutexGuard<'s, State> {
        match state.queue.next(now) {
            Next::Flush(jobs) => {
                state.slots.begin();
                self.keep_one_idle(&state);
                let is_heard = state.slots.is_free() || !state.slots.is_watched();
                if is_heard && state.queue.has_due(now) {
                    self.work.notify_one();
                }
                drop(state);
                self.flush(&jobs)
            }
            Next::WaitUntil(due) if state.timer.is_none_or(|timer| due < timer) => {
                state.timer = Some(due);
                let wait = due.saturating_sub(now);
                let woken = self.work.wait_timeout(state, wait);
                let mut state = woken.unwrap_or_else(PoisonError::into_inner).0;
                if state.timer == Some(due) {
                    state.timer = None;
                }
                state
            }
            Next::WaitUntil(_) | Next::Wait => {
                self.work.wait(state).unwrap_or_else(PoisonError::into_inner)
            }
        }
    }

    fn require_in_place(&self) -> io::Result<()> {
        require_dir_in_place(&*self.disk, &self.dir, self.inode)
    }

    fn flush(&self, jobs: &[Job<Arc<Log>>]) -> MutexGuard<'_, State> {
        let results = match (self.require_in_place(), jobs) {
            (Ok(()), [job]) => vec![job.log.flush()],
            (Ok(()), jobs) => flush_together(self, jobs),
            (Err(cause), jobs) => not_in_place(self, &cause, jobs),
        };
        let is_postponed = self.finish(jobs, &results);
        let state = self.lock();
        if !is_postponed || state.stopping {
            return state;
        }
        // Above half the budget every log is due at once: without a pause the flush would be
        // repeated without end.
        let paused = self.work.wait_timeout(state, POSTPONED_PAUSE);
        paused.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Ends flushes with these results; returns true if one is to be tried again.
    fn finish(&self, jobs: &[Job<Arc<Log>>], results: &[Result<Offset, StorageError>]) -> bool {
        let again = self.clock.monotonic().saturating_add(POSTPONED_PAUSE);
        let mut is_postponed = false;
        let mut state = self.lock();
        state.slots.end();
        for (job, result) in jobs.iter().zip(results) {
            let ending = ending(result, again);
            is_postponed |= matches!(ending, Ending::Postponed(_));
            state.queue.finish(job, ending);
        }
        self.note_budget(&state);
        drop(state);
        for (job, result) in jobs.iter().zip(results) {
            match result {
                Ok(offset) => {
                    let flushed = Flushed { log: &job.log, offset: *offset, bytes: job.bytes };
                    (self.listener.on_flushed)(&flushed);
                }
                Err(error) if error.leaves_disk_unknown() => (self.listener.on_fatal)(error),
                Err(error) if error.is_logged() => {}
                Err(error) => tracing::warn!(partition = %job.partition, %error, "not flushed"),
            }
        }
        is_postponed
    }
}

/// The outcome of a flush. A flush whose sync could not be tried is due again at `again`.
fn ending(result: &Result<Offset, StorageError>, again: Duration) -> Ending {
    match result {
        Ok(_) => Ending::Flushed,
        Err(StorageError::Failed { .. }) => Ending::Failed,
        Err(error) if error.leaves_disk_unknown() => Ending::Failed,
        Err(_) => Ending::Postponed(again),
    }
}

/// Flushes a log, and awaits `pause` before the sync and after it.
#[cfg(any(test, feature = "internals"))]
async fn flush_slowly(
    log: &Arc<Log>,
    pause: &impl AsyncFn(&TopicPartition),
) -> Result<Offset, StorageError> {
    let Some(ticket) = log.flushes().begin()? else { return Ok(log.flushed_offset()) };
    pause(log.partition()).await;
    let synced = ticket.sync();
    pause(log.partition()).await;
    ticket.finish(synced)
}

/// Fails all flushes, because the directory is not the one that was opened, or could not be
/// checked.
fn not_in_place(
    shared: &Shared,
    cause: &io::Error,
    jobs: &[Job<Arc<Log>>],
) -> Vec<Result<Offset, StorageError>> {
    let refuse = |job: &Job<Arc<Log>>| {
        let error = StorageError::io("keep", &shared.dir, same_error(cause));
        if error.leaves_disk_unknown() {
            job.log.fail(&error);
        }
        Err(error)
    };
    jobs.iter().map(refuse).collect()
}

/// Flushes many logs by a single sync of their file system.
fn flush_together(shared: &Shared, jobs: &[Job<Arc<Log>>]) -> Vec<Result<Offset, StorageError>> {
    let tickets: Vec<_> = jobs.iter().map(|job| (&job.log, job.log.flushes().begin())).collect();
    let synced = shared.disk.sync_filesystem(&shared.dir);
    let is_open = synced.as_ref().err().is_none_or(is_failed_sync);
    let was_armed = is_open && shared.armed.swap(true, Ordering::AcqRel);
    let finish = |(log, ticket): (&Arc<Log>, Result<Option<FlushTicket<'_>>, StorageError>)| {
        let Some(ticket) = ticket? else { return Ok(log.flushed_offset()) };
        let result = match &synced {
            Ok(()) if was_armed => Ok(()),
            // The descriptor was opened just now and cannot report earlier write-back errors, so
            // sync each file by itself.
            Ok(()) => ticket.sync(),
            Err(error) => Err(StorageError::io("sync", &shared.dir, same_error(error))),
        };
        ticket.finish(result)
    };
    tickets.into_iter().map(finish).collect()
}
