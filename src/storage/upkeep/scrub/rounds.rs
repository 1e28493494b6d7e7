//! The order in which the scrubber checks segments: its rules, without the thread.
//!
//! A log is due when an interval has passed since its last round began; logs never checked come
//! first, then those whose round began earliest. A round is finished before the next begins.
//!
//! The state is kept in `scrub-checkpoint`, a checked text with a row `topic partition began next`
//! per log. `began` is the time at which its last round began, −1 if none has; `next` is the base
//! offset of the next segment in that round, −1 if it is finished. The file is a hint: without it
//! all logs are due.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::io::Disk;
use crate::storage::directory::SCRUB_CHECKPOINT;
use crate::storage::{Stored, checked_text};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicPartition};

/// The rounds of all logs.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    rounds: BTreeMap<TopicPartition, Round>,
    /// True if the file is out of date.
    is_changed: bool,
}

/// The last round of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    /// The time at which it began, by the wall clock; `NONE` before the first.
    began: Timestamp,
    /// The round continues with the first segment from this offset on; `None` once finished.
    next: Option<Offset>,
}

/// The next step of the scrubber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Check the first segment of the log that begins at or after the offset.
    Check {
        /// The log.
        partition: TopicPartition,
        /// The offset.
        from: Offset,
    },
    /// Wait: nothing is due before this time has passed.
    Wait(Duration),
}

/// The version of the file's format.
const VERSION: i64 = 0;

impl Rounds {
    /// Reads the rounds from the file in `dir`.
    pub(super) fn load(disk: &dyn Disk, dir: &Path) -> io::Result<Self> {
        let rows = match checked_text::read(disk, &dir.join(SCRUB_CHECKPOINT), VERSION, parse)? {
            Stored::Sound(rows) => rows,
            Stored::Absent => Vec::new(),
            Stored::Damaged(reason) => {
                tracing::warn!(
                    reason,
                    "{SCRUB_CHECKPOINT} is damaged: every log is scrubbed again"
                );
                Vec::new()
            }
        };
        Ok(Self { rounds: rows.into_iter().collect(), is_changed: false })
    }

    /// Writes the file if it is out of date; durable on return.
    pub(super) fn store(&mut self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        if !self.is_changed {
            return Ok(());
        }
        let row = |(partition, round): (&TopicPartition, &Round)| {
            let next = round.next.map_or(-1, Offset::get);
            let TopicPartition { topic, partition } = partition;
            format!("{topic} {partition} {} {next}", round.began)
        };
        checked_text::write(
            disk,
            &dir.join(SCRUB_CHECKPOINT),
            VERSION,
            self.rounds.iter().map(row),
        )?;
        self.is_changed = false;
        Ok(())
    }

    /// The next step. If a round is due, it begins.
    pub(super) fn next(&mut self, interval: Duration, now: Timestamp) -> Step {
        let under_way = self.rounds.iter().find_map(|(partition, round)| {
            let from = round.next?;
            Some(Step::Check { partition: partition.clone(), from })
        });
        if let Some(step) = under_way {
            return step;
        }
        let oldest = self.rounds.iter_mut().min_by_key(|(_, round)| round.began);
        let Some((partition, round)) = oldest else { return Step::Wait(interval) };
        let age = Duration::from_millis(
            u64::try_from(now.millis().saturating_sub(round.began.millis())).unwrap_or(0),
        );
        if round.began != Timestamp::NONE && age < interval {
            return Step::Wait(interval.saturating_sub(age));
        }
        *round = Round { began: now, next: Some(Offset::ZERO) };
        self.is_changed = true;
        Step::Check { partition: partition.clone(), from: Offset::ZERO }
    }

    /// Records the progress of a round; `None` finishes it.
    pub(super) fn checked(&mut self, partition: &TopicPartition, next: Option<Offset>) {
        if let Some(round) = self.rounds.get_mut(partition) {
            round.next = next;
            self.is_changed = true;
        }
    }

    /// Removes deleted logs and adds new ones; `partitions` are those with a log, sorted. A round
    /// may seem to have begun in the future, because the clock was ahead then. Its begin becomes
    /// `now`: otherwise the log would not be checked until that time has come.
    pub(super) fn match_with(&mut self, partitions: &[TopicPartition], now: Timestamp) {
        let before = self.rounds.len();
        self.rounds.retain(|partition, _| partitions.binary_search(partition).is_ok());
        self.is_changed |= self.rounds.len() < before;
        for partition in partitions {
            let unseen = Round { began: Timestamp::NONE, next: None };
            let round = self.rounds.entry(partition.clone()).or_insert(unseen);
            round.began = round.began.min(now);
        }
    }
}

fn parse(row: &str) -> Option<(TopicPartition, Round)> {
    let mut words = row.split(' ');
    let topic = words.next()?.parse().ok()?;
    let partition = PartitionIndex(words.next()?.parse().ok()?);
    let began = Timestamp::from_millis(words.next()?.parse().ok()?);
    let next = Offset::checked(words.next()?.parse().ok()?);
    let partition = TopicPartition { topic, partition };
    words.next().is_none().then_some((partition, Round { began, next }))
}
