//! What is known of a segment that no longer grows.
//!
//! Retention asks how old a segment is. Neither the times in its records, which are the producers'
//! word, nor the file's own, which any copy changes, are enough alone: the seal keeps the broker's
//! time at which the segment was left. `%020d.seal` is a checked text with one row,
//! `sealed_at max_timestamp next_offset size`. Without the file the segment counts as sealed when
//! that was noticed: it is kept longer, never shorter.

use std::fmt;
use std::io;
use std::path::Path;

use crate::io::Disk;
use crate::storage::{Stored, checked_text};
use crate::types::{Offset, Timestamp};

/// The facts of a finished segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seal {
    /// When the broker went on to the next segment, by its wall clock.
    pub(crate) sealed_at: Timestamp,
    /// The largest timestamp in it; `NONE` when it has no batch.
    pub(crate) max_timestamp: Timestamp,
    /// The offset after its last.
    pub(crate) next_offset: Offset,
    /// Its bytes.
    pub(crate) size: u64,
}

const VERSION: i64 = 0;

impl Seal {
    /// The seal in `path`; `None` when there is none, or none that can be believed.
    pub(super) fn load(disk: &dyn Disk, path: &Path) -> io::Result<Option<Self>> {
        match checked_text::read(disk, path, VERSION, parse)? {
            Stored::Sound(seals) => Ok(seals.first().copied()),
            Stored::Absent | Stored::Damaged(_) => Ok(None),
        }
    }

    /// Writes the seal, durably.
    pub(super) fn store(&self, disk: &dyn Disk, path: &Path) -> io::Result<()> {
        checked_text::write(disk, path, VERSION, std::iter::once(self))
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sealed_at, max_timestamp, next_offset, size } = self;
        write!(f, "{sealed_at} {max_timestamp} {next_offset} {size}")
    }
}

fn parse(row: &str) -> Option<Seal> {
    let mut words = row.split(' ').map(|word| word.parse::<i64>().ok());
    let mut number = || words.next().flatten();
    let seal = Seal {
        sealed_at: Timestamp::from_millis(number()?),
        max_timestamp: Timestamp::from_millis(number()?),
        next_offset: Offset::checked(number()?)?,
        size: u64::try_from(number()?).ok()?,
    };
    words.next().is_none().then_some(seal)
}
