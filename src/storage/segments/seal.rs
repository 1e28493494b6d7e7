//! The seal: the facts about a segment that no longer grows, and the digests of its headers.
//!
//! Retention needs the age of a segment. The timestamps of its records are not sufficient, because
//! producers set them, nor are the file's own times, because any copy changes them. So the seal
//! keeps the broker's time at which the segment was rolled. `%020d.seal` is a checked text whose
//! first row is `sealed_at max_timestamp next_offset size`. Without the file the segment counts as
//! sealed when its absence is noticed: it is kept longer, never shorter.
//!
//! A row `start end sum weighted` for each stretch of batches follows: the digest of their headers.
//! Releases without digests read only the first row. The active segment has a seal too, for its
//! digests: each rebuild point writes it with the facts so far.

use std::fmt;
use std::io;
use std::path::Path;

use crate::io::Disk;
use crate::storage::segments::HeaderDigest;
use crate::storage::{Stored, checked_text};
use crate::types::{Offset, Timestamp};

/// The facts about a finished segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seal {
    /// The time at which the broker rolled to the next segment, by its wall clock.
    pub(crate) sealed_at: Timestamp,
    /// The largest timestamp in the segment; `NONE` if it has no batch.
    pub(crate) max_timestamp: Timestamp,
    /// The offset after its last batch.
    pub(crate) next_offset: Offset,
    /// Its size in bytes.
    pub(crate) size: u64,
}

const VERSION: i64 = 0;

impl Seal {
    /// Reads the seal in `path`; `None` if it is absent or damaged.
    pub(super) fn load(disk: &dyn Disk, path: &Path) -> io::Result<Option<Self>> {
        Ok(rows(disk, path)?.first().and_then(Self::from_row))
    }

    /// Reads the digests in the seal in `path`; none if it is absent or damaged.
    pub(crate) fn load_digests(disk: &dyn Disk, path: &Path) -> io::Result<Vec<HeaderDigest>> {
        let digests = |row: &[i64; 4]| {
            let [start, end, sum, weighted] = row.map(i64::cast_unsigned);
            HeaderDigest { start, end, sum, weighted }
        };
        Ok(rows(disk, path)?.iter().skip(1).map(digests).collect())
    }

    /// Writes the seal with the digests of the segment's headers, durably.
    pub(super) fn store(
        &self,
        disk: &dyn Disk,
        path: &Path,
        digests: &[HeaderDigest],
    ) -> io::Result<()> {
        let mut rows = vec![self.to_string()];
        rows.extend(digests.iter().map(|digest| {
            let HeaderDigest { start, end, sum, weighted } = digest;
            format!("{start} {end} {sum} {weighted}")
        }));
        checked_text::write(disk, path, VERSION, rows.iter())
    }

    fn from_row(row: &[i64; 4]) -> Option<Self> {
        let [sealed_at, max_timestamp, next_offset, size] = *row;
        Some(Self {
            sealed_at: Timestamp::from_millis(sealed_at),
            max_timestamp: Timestamp::from_millis(max_timestamp),
            next_offset: Offset::checked(next_offset)?,
            size: u64::try_from(size).ok()?,
        })
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sealed_at, max_timestamp, next_offset, size } = self;
        write!(f, "{sealed_at} {max_timestamp} {next_offset} {size}")
    }
}

/// Reads the rows of the file; none if it is absent or damaged.
fn rows(disk: &dyn Disk, path: &Path) -> io::Result<Vec<[i64; 4]>> {
    match checked_text::read(disk, path, VERSION, numbers)? {
        Stored::Sound(rows) => Ok(rows),
        Stored::Absent | Stored::Damaged(_) => Ok(Vec::new()),
    }
}

fn numbers(row: &str) -> Option<[i64; 4]> {
    let mut words = row.split(' ').map(|word| word.parse::<i64>().ok());
    let mut number = || words.next().flatten();
    let row = [number()?, number()?, number()?, number()?];
    words.next().is_none().then_some(row)
}
