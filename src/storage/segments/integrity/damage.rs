//! The ranges of a log that are known to be damaged: they are kept and never served, and recovery
//! does not truncate them.
//!
//! They are stored in the file `damaged` of the log's directory, a checked text. Each has a row
//! `segment start end first next`: the segment's base offset, the positions of the unreadable range
//! and its offsets, with the ends excluded.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;

use crate::io::Disk;
use crate::storage::{Stored, checked_text, small_file};
use crate::types::Offset;

/// A stretch of a segment without a good batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Base offset of the segment.
    pub segment: Offset,
    /// Position of the first damaged byte.
    pub start: u64,
    /// Position after the last damaged byte; equal to `start` if the bytes are missing altogether.
    pub end: u64,
    /// The first offset that cannot be read.
    pub first: Offset,
    /// The first offset after the damage that can be read.
    pub next: Offset,
}

const FILE_NAME: &str = "damaged";
const VERSION: i64 = 0;

impl Damage {
    /// Reads the known damage of the log in `dir`.
    ///
    /// # Errors
    /// `InvalidData` if the file itself is damaged: it is then unknown which bytes may be served.
    pub(crate) fn load(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<Self>> {
        match checked_text::read(disk, &dir.join(FILE_NAME), VERSION, parse)? {
            Stored::Absent => Ok(Vec::new()),
            Stored::Sound(damages) => Ok(damages),
            Stored::Damaged(reason) => Err(io::Error::new(io::ErrorKind::InvalidData, reason)),
        }
    }

    /// Replaces the file; durable on return.
    pub(crate) fn store(disk: &dyn Disk, dir: &Path, damages: &[Self]) -> io::Result<()> {
        let path = dir.join(FILE_NAME);
        if damages.is_empty() {
            small_file::remove(disk, &path)
        } else {
            checked_text::write(disk, &path, VERSION, damages.iter())
        }
    }

    /// The positions of its bytes.
    pub(crate) fn bytes(&self) -> Range<u64> {
        self.start..self.end
    }

    /// Returns true if a batch at `position` cannot be read.
    pub(super) fn holds(&self, position: u64) -> bool {
        position == self.start || (self.start..self.end).contains(&position)
    }

    /// Returns true if all of `other` lies within it.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let bytes = self.start <= other.start && other.end <= self.end;
        self.segment == other.segment
            && bytes
            && self.first <= other.first
            && other.next <= self.next
    }

    /// Returns true if there is nothing readable between the two.
    pub(super) fn touches(&self, other: &Self) -> bool {
        let bytes = self.start <= other.end && other.start <= self.end;
        self.segment == other.segment && bytes
    }

    /// Merges both into a single stretch.
    pub(super) fn joined(&self, other: &Self) -> Self {
        Self {
            segment: self.segment,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
            first: self.first.min(other.first),
            next: self.next.max(other.next),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { segment, start, end, first, next } = self;
        write!(f, "{segment} {start} {end} {first} {next}")
    }
}

fn parse(row: &str) -> Option<Damage> {
    let mut words = row.split(' ').map(|word| word.parse::<i64>().ok());
    let mut number = || words.next().flatten();
    let damage = Damage {
        segment: Offset::checked(number()?)?,
        start: u64::try_from(number()?).ok()?,
        end: u64::try_from(number()?).ok()?,
        first: Offset::checked(number()?)?,
        next: Offset::checked(number()?)?,
    };
    words.next().is_none().then_some(damage)
}
