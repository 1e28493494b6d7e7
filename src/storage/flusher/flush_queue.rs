//! The queue of logs to flush: the flusher's scheduling rules, without its threads.
//!
//! A log with unflushed records is due if a response waits for them, if its own settings say so, or
//! if the budget of the data directory runs short. A flush covers all that was appended before it
//! began; later appends wait for the next flush. A log is never flushed twice at the same time.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::types::TopicPartition;

/// The outcome of a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The records are on the disk.
    Flushed,
    /// The records are not on the disk, and the log is never flushed again.
    Failed,
    /// A sync could not be tried, and the flush is due again at this time.
    Postponed(Duration),
}

/// A log taken for flushing; pass it to `finish` afterwards.
#[derive(Debug)]
pub(super) struct Job<L> {
    pub(super) partition: TopicPartition,
    pub(super) log: L,
    pub(super) bytes: u64,
    entry_id: u64,
}

/// The next action of a flusher thread.
#[derive(Debug)]
pub(super) enum Next<L> {
    /// Flush these logs: one by itself, several by a single sync of the file system.
    Flush(Vec<Job<L>>),
    /// Wait: nothing is due before this time.
    WaitUntil(Duration),
    /// Wait: there is nothing to flush.
    Wait,
}

/// The logs with unflushed records.
#[derive(Debug)]
pub(super) struct FlushQueue<L> {
    entries: HashMap<TopicPartition, Entry<L>>,
    /// The entries with a due time that are not being flushed, by that time.
    waiting: BTreeSet<(Duration, TopicPartition)>,
    failed: BTreeSet<TopicPartition>,
    unflushed_bytes: u64,
    budget_bytes: u64,
    last_entry_id: u64,
}

#[derive(Debug)]
struct Entry<L> {
    log: L,
    /// Distinguishes this entry from an earlier log of the same name.
    id: u64,
    /// The bytes appended since the last flush began, as far as `schedule` was told.
    bytes: u64,
    /// The time at which these bytes must be flushed; `None` if there are none.
    due: Option<Duration>,
    /// The bytes being flushed.
    flushing: Option<u64>,
}

/// The number of due logs from which on a single sync of the file system flushes them together. On
/// the machines measured, a thousand files took 15 ms this way and more than a second one by one.
pub(super) const SYNC_TOGETHER_FROM: usize = 33;

impl<L: Clone> FlushQueue<L> {
    pub(super) fn new(budget_bytes: u64) -> Self {
        Self {
            entries: HashMap::new(),
            waiting: BTreeSet::new(),
            failed: BTreeSet::new(),
            unflushed_bytes: 0,
            budget_bytes,
            last_entry_id: 0,
        }
    }

    /// Records that a log has `bytes` unflushed bytes, due at `due` or at the time recorded before,
    /// whichever is earlier.
    pub(super) fn schedule(
        &mut self,
        partition: &TopicPartition,
        log: &L,
        bytes: u64,
        due: Duration,
    ) {
        if self.failed.contains(partition) {
            return;
        }
        if !self.entries.contains_key(partition) {
            self.last_entry_id += 1;
            let entry = Entry::new(log.clone(), self.last_entry_id);
            self.entries.insert(partition.clone(), entry);
        }
        let Some(entry) = self.entries.get_mut(partition) else { return };
        self.unflushed_bytes = self.unflushed_bytes - entry.bytes + bytes;
        entry.bytes = bytes;
        let before = entry.due;
        if before.is_some_and(|before| before <= due) {
            return;
        }
        entry.due = Some(due);
        if entry.flushing.is_none() {
            if let Some(before) = before {
                self.waiting.remove(&(before, partition.clone()));
            }
            self.waiting.insert((due, partition.clone()));
        }
    }

    /// Takes the first due log, or all due logs if at least `SYNC_TOGETHER_FROM` are due. If none
    /// is due, returns the time at which the first will be.
    pub(super) fn next(&mut self, now: Duration) -> Next<L> {
        let until = if self.is_half_full() { Duration::MAX } else { now };
        let due = self.waiting.iter().take_while(|(due, _)| *due <= until).count();
        if due == 0 {
            return match self.waiting.first() {
                Some((due, _)) => Next::WaitUntil(*due),
                None => Next::Wait,
            };
        }
        let count = if due < SYNC_TOGETHER_FROM { 1 } else { due };
        Next::Flush((0..count).filter_map(|_| self.take_first()).collect())
    }

    /// The time at which the next log is due.
    pub(super) fn earliest(&self) -> Option<Duration> {
        let earliest = self.waiting.first().map(|(due, _)| *due);
        if self.is_half_full() { earliest.map(|_| Duration::ZERO) } else { earliest }
    }

    /// Returns true if a log is due that no thread has taken.
    pub(super) fn has_due(&self, now: Duration) -> bool {
        self.earliest().is_some_and(|due| due <= now)
    }

    /// Returns true if a log is being flushed, or is due.
    pub(super) fn is_busy(&self, now: Duration) -> bool {
        self.has_due(now) || self.entries.values().any(|entry| entry.flushing.is_some())
    }

    /// Records the outcome of a job that `next` returned.
    pub(super) fn finish(&mut self, job: &Job<L>, ending: Ending) {
        let Some(entry) = self.entries.get_mut(&job.partition) else { return };
        if entry.id != job.entry_id {
            return;
        }
        assert_eq!(entry.flushing, Some(job.bytes), "{} was not being flushed", job.partition);
        entry.flushing = None;
        self.unflushed_bytes -= job.bytes;
        match (ending, entry.due) {
            (Ending::Failed, _) => {
                self.forget(&job.partition);
                self.failed.insert(job.partition.clone());
            }
            (Ending::Postponed(due), _) => {
                entry.bytes += job.bytes;
                self.unflushed_bytes += job.bytes;
                entry.due = Some(due);
                self.waiting.insert((due, job.partition.clone()));
            }
            (Ending::Flushed, Some(due)) => {
                self.waiting.insert((due, job.partition.clone()));
            }
            (Ending::Flushed, None) => {
                self.entries.remove(&job.partition);
            }
        }
    }

    /// Removes a log that is being deleted; a flush of it in progress may end either way.
    pub(super) fn forget(&mut self, partition: &TopicPartition) {
        self.failed.remove(partition);
        if let Some(entry) = self.entries.remove(partition) {
            self.unflushed_bytes -= entry.bytes + entry.flushing.unwrap_or(0);
            if let Some(due) = entry.due {
                self.waiting.remove(&(due, partition.clone()));
            }
        }
    }

    /// Returns true if producers must wait.
    pub(super) fn is_over_budget(&self) -> bool {
        self.unflushed_bytes > self.budget_bytes
    }

    #[cfg(any(test, feature = "internals"))]
    pub(super) fn unflushed_bytes(&self) -> u64 {
        self.unflushed_bytes
    }

    /// The logs with a failed flush, by name.
    #[cfg(any(test, feature = "internals"))]
    pub(super) fn failed(&self) -> impl Iterator<Item = &TopicPartition> {
        self.failed.iter()
    }

    /// Returns true above half of the budget. Every log is then due, whatever its settings. So
    /// flushes begin before producers have to wait, and no producer waits for a flush that no
    /// setting makes due.
    fn is_half_full(&self) -> bool {
        self.unflushed_bytes > self.budget_bytes / 2
    }

    fn take_first(&mut self) -> Option<Job<L>> {
        let (_, partition) = self.waiting.pop_first()?;
        let entry = self.entries.get_mut(&partition)?;
        let (bytes, entry_id) = (entry.bytes, entry.id);
        assert_eq!(entry.flushing, None, "{partition} is being flushed already");
        *entry = Entry { flushing: Some(bytes), ..Entry::new(entry.log.clone(), entry_id) };
        Some(Job { log: entry.log.clone(), partition, bytes, entry_id })
    }
}

impl<L> Entry<L> {
    fn new(log: L, id: u64) -> Self {
        Self { log, id, bytes: 0, due: None, flushing: None }
    }
}
