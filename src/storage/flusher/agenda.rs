//! Which logs are to be flushed, and when: the flusher's rules without its threads.
//!
//! A log with unflushed records is due when somebody waits for them, when its own rule says so, or
//! when the budget of the data directory runs short. One flush serves all that was appended before
//! it began; what is appended meanwhile waits for the next. A log is never flushed twice at a time.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::types::TopicPartition;

/// How a flush ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// What it took is on the disk.
    Flushed,
    /// It is not, and the log is never flushed again.
    Failed,
    /// It was not tried, and is due again then.
    Postponed(Duration),
}

/// A log taken for flushing; to be handed back by `finish`.
#[derive(Debug)]
pub(super) struct Job<L> {
    pub(super) partition: TopicPartition,
    pub(super) log: L,
    pub(super) bytes: u64,
    visit: u64,
}

/// What a flusher thread does next.
#[derive(Debug)]
pub(super) enum Next<L> {
    /// Flush these, one after another when they are few, else all at once.
    Flush(Vec<Job<L>>),
    /// Nothing is due before this moment.
    WaitUntil(Duration),
    /// Nothing is to be flushed at all.
    Wait,
}

/// The logs with unflushed records.
#[derive(Debug)]
pub(super) struct Agenda<L> {
    entries: HashMap<TopicPartition, Entry<L>>,
    /// The entries that wait and are not being flushed.
    waiting: BTreeSet<(Duration, TopicPartition)>,
    failed: BTreeSet<TopicPartition>,
    unflushed_bytes: u64,
    budget_bytes: u64,
    visits: u64,
}

#[derive(Debug)]
struct Entry<L> {
    log: L,
    /// Tells this entry from an earlier log of the same name.
    visit: u64,
    /// Appended since the last flush began, as far as is known here.
    bytes: u64,
    /// When that is due, if it is anything.
    due: Option<Duration>,
    /// The bytes being flushed.
    flushing: Option<u64>,
}

/// So many logs due at once are flushed together by one sync of the file system: on the machines
/// measured, a thousand files took 15 ms so and more than a second one after another.
pub(super) const TOGETHER_FROM: usize = 33;

impl<L: Clone> Agenda<L> {
    pub(super) fn new(budget_bytes: u64) -> Self {
        Self {
            entries: HashMap::new(),
            waiting: BTreeSet::new(),
            failed: BTreeSet::new(),
            unflushed_bytes: 0,
            budget_bytes,
            visits: 0,
        }
    }

    /// Takes note that a log has so many bytes that wait, and when they are due: from then on, or
    /// from the moment noted before if that is earlier.
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
            self.visits += 1;
            let entry = Entry::new(log.clone(), self.visits);
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

    /// Takes what is due, or tells when something will be.
    pub(super) fn next(&mut self, now: Duration) -> Next<L> {
        let until = if self.is_pressed() { Duration::MAX } else { now };
        let due = self.waiting.iter().take_while(|(due, _)| *due <= until).count();
        if due == 0 {
            return match self.waiting.first() {
                Some((due, _)) => Next::WaitUntil(*due),
                None => Next::Wait,
            };
        }
        let count = if due < TOGETHER_FROM { 1 } else { due };
        Next::Flush((0..count).filter_map(|_| self.take_first()).collect())
    }

    /// When something is due next.
    pub(super) fn earliest(&self) -> Option<Duration> {
        let earliest = self.waiting.first().map(|(due, _)| *due);
        if self.is_pressed() { earliest.map(|_| Duration::ZERO) } else { earliest }
    }

    /// Whether another thread would find something due as well.
    pub(super) fn has_due(&self, now: Duration) -> bool {
        self.earliest().is_some_and(|due| due <= now)
    }

    /// Whether something is being flushed, or is due.
    pub(super) fn is_busy(&self, now: Duration) -> bool {
        self.has_due(now) || self.entries.values().any(|entry| entry.flushing.is_some())
    }

    /// Hands back what `next` gave.
    pub(super) fn finish(&mut self, job: &Job<L>, ending: Ending) {
        let Some(entry) = self.entries.get_mut(&job.partition) else { return };
        if entry.visit != job.visit {
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

    /// Forgets a log that is going away; a flush of it in progress ends as it may.
    pub(super) fn forget(&mut self, partition: &TopicPartition) {
        self.failed.remove(partition);
        if let Some(entry) = self.entries.remove(partition) {
            self.unflushed_bytes -= entry.bytes + entry.flushing.unwrap_or(0);
            if let Some(due) = entry.due {
                self.waiting.remove(&(due, partition.clone()));
            }
        }
    }

    /// Whether producers are to be kept waiting.
    pub(super) fn is_over_budget(&self) -> bool {
        self.unflushed_bytes > self.budget_bytes
    }

    #[cfg(any(test, feature = "internals"))]
    pub(super) fn unflushed_bytes(&self) -> u64 {
        self.unflushed_bytes
    }

    /// The logs whose flush has failed, by name.
    #[cfg(any(test, feature = "internals"))]
    pub(super) fn failed(&self) -> impl Iterator<Item = &TopicPartition> {
        self.failed.iter()
    }

    /// At half the budget everything is due, whatever its rule: producers should never meet the
    /// other half, and must not wait for a flush that no rule asks for.
    fn is_pressed(&self) -> bool {
        self.unflushed_bytes > self.budget_bytes / 2
    }

    fn take_first(&mut self) -> Option<Job<L>> {
        let (_, partition) = self.waiting.pop_first()?;
        let entry = self.entries.get_mut(&partition)?;
        let (bytes, visit) = (entry.bytes, entry.visit);
        assert_eq!(entry.flushing, None, "{partition} is being flushed already");
        *entry = Entry { flushing: Some(bytes), ..Entry::new(entry.log.clone(), visit) };
        Some(Job { log: entry.log.clone(), partition, bytes, visit })
    }
}

impl<L> Entry<L> {
    fn new(log: L, visit: u64) -> Self {
        Self { log, visit, bytes: 0, due: None, flushing: None }
    }
}
