//! The rules of the scrubber without its thread: which segment of which log is looked at next.
//!
//! A log is due when its last look began an interval ago; logs never looked at come first, then
//! those whose look lies furthest back. A look that has begun is finished before the next. All this
//! is kept in `scrub-checkpoint`, a checked text with a row `topic partition began next` per log:
//! when its last look began, −1 if none has, and the base offset of the segment that comes next in
//! that look, −1 if it is finished. It is a hint: without it everything is due.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::io::Disk;
use crate::storage::{Stored, checked_text};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicPartition};

/// The looks at all logs.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    looks: BTreeMap<TopicPartition, Look>,
    /// Whether the file lacks something.
    is_changed: bool,
}

/// The last look at a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    /// When it began, by the wall clock; `NONE` before the first.
    began: Timestamp,
    /// The segment with which it goes on, the first from this offset on; `None` once finished.
    next: Option<Offset>,
}

/// What the scrubber does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Check the first segment of the log that begins at or after the offset.
    Check {
        /// The log.
        partition: TopicPartition,
        /// The offset.
        from: Offset,
    },
    /// Nothing is due before so much time has passed.
    Wait(Duration),
}

/// The name of the file.
pub(in crate::storage) const FILE_NAME: &str = "scrub-checkpoint";
const VERSION: i64 = 0;

impl Rounds {
    /// The looks as the file in `dir` tells of them.
    pub(super) fn load(disk: &dyn Disk, dir: &Path) -> io::Result<Self> {
        let rows = match checked_text::read(disk, &dir.join(FILE_NAME), VERSION, parse)? {
            Stored::Sound(rows) => rows,
            Stored::Absent => Vec::new(),
            Stored::Damaged(reason) => {
                tracing::warn!(reason, "{FILE_NAME} is damaged: every log is looked at again");
                Vec::new()
            }
        };
        Ok(Self { looks: rows.into_iter().collect(), is_changed: false })
    }

    /// Writes the file if it lacks something; durable on return.
    pub(super) fn store(&mut self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        if !self.is_changed {
            return Ok(());
        }
        let row = |(partition, look): (&TopicPartition, &Look)| {
            let next = look.next.map_or(-1, Offset::get);
            let TopicPartition { topic, partition } = partition;
            format!("{topic} {partition} {} {next}", look.began)
        };
        checked_text::write(disk, &dir.join(FILE_NAME), VERSION, self.looks.iter().map(row))?;
        self.is_changed = false;
        Ok(())
    }

    /// The next step. A look that is due begins with it.
    pub(super) fn next(&mut self, interval: Duration, now: Timestamp) -> Step {
        let under_way = self.looks.iter().find_map(|(partition, look)| {
            let from = look.next?;
            Some(Step::Check { partition: partition.clone(), from })
        });
        if let Some(step) = under_way {
            return step;
        }
        let oldest = self.looks.iter_mut().min_by_key(|(_, look)| look.began);
        let Some((partition, look)) = oldest else { return Step::Wait(interval) };
        let age = Duration::from_millis(
            u64::try_from(now.millis().saturating_sub(look.began.millis())).unwrap_or(0),
        );
        if look.began != Timestamp::NONE && age < interval {
            return Step::Wait(interval.saturating_sub(age));
        }
        *look = Look { began: now, next: Some(Offset::ZERO) };
        self.is_changed = true;
        Step::Check { partition: partition.clone(), from: Offset::ZERO }
    }

    /// Takes note that a look has come so far; `None` finishes it.
    pub(super) fn checked(&mut self, partition: &TopicPartition, next: Option<Offset>) {
        if let Some(look) = self.looks.get_mut(partition) {
            look.next = next;
            self.is_changed = true;
        }
    }

    /// Forgets logs that are gone, takes up new ones, and disbelieves a look from the future, as
    /// a clock that was ahead leaves it: else that log would not be looked at for as long.
    /// `partitions` are those that have a log, sorted.
    pub(super) fn match_with(&mut self, partitions: &[TopicPartition], now: Timestamp) {
        let before = self.looks.len();
        self.looks.retain(|partition, _| partitions.binary_search(partition).is_ok());
        self.is_changed |= self.looks.len() < before;
        for partition in partitions {
            let unseen = Look { began: Timestamp::NONE, next: None };
            let look = self.looks.entry(partition.clone()).or_insert(unseen);
            look.began = look.began.min(now);
        }
    }
}

fn parse(row: &str) -> Option<(TopicPartition, Look)> {
    let mut words = row.split(' ');
    let topic = words.next()?.parse().ok()?;
    let partition = PartitionIndex(words.next()?.parse().ok()?);
    let began = Timestamp::from_millis(words.next()?.parse().ok()?);
    let next = Offset::checked(words.next()?.parse().ok()?);
    let partition = TopicPartition { topic, partition };
    words.next().is_none().then_some((partition, Look { began, next }))
}
