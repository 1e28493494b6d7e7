//! The progress of a log's compaction: the file `compacted` of its directory.
//!
//! A checked text of version 0 with one row, `<gaps below> <clean below>`. Below the first offset,
//! records may be missing between batches without damage. It is raised, durably, before a pass
//! removes its first record. Below the second, every key occurs at most once, apart from segments
//! with damage. The second is only a hint: if it is lost, the next pass reads more.

use std::fmt;
use std::io;
use std::path::Path;

use crate::io::Disk;
use crate::storage::{Stored, checked_text, small_file};
use crate::types::Offset;

/// The progress of a log's compaction. `Default` stands for a log that was never compacted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compacted {
    /// The offset below which records may be missing.
    pub(crate) gaps_below: Offset,
    /// The offset below which everything is compacted.
    pub(crate) clean_below: Offset,
}

const FILE_NAME: &str = "compacted";
const VERSION: i64 = 0;

impl Compacted {
    /// Reads the progress of the log in `dir`. If the file is damaged, gaps are possible anywhere.
    pub(crate) fn load(disk: &dyn Disk, dir: &Path) -> io::Result<Self> {
        let anywhere = Self { gaps_below: Offset::new(i64::MAX), clean_below: Offset::ZERO };
        match checked_text::read(disk, &dir.join(FILE_NAME), VERSION, parse)? {
            Stored::Absent => Ok(Self::default()),
            Stored::Sound(rows) => Ok(rows.first().copied().unwrap_or(anywhere)),
            Stored::Damaged(reason) => {
                tracing::warn!(dir = %dir.display(), reason, "compaction progress is unknown");
                Ok(anywhere)
            }
        }
    }

    /// Replaces the file; durable on return.
    pub(crate) fn store(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        checked_text::write(disk, &dir.join(FILE_NAME), VERSION, std::iter::once(self))
    }

    /// Lowers the progress to `end`, where the log in `dir` has just been truncated.
    pub(crate) fn truncate(disk: &dyn Disk, dir: &Path, end: Offset) -> io::Result<()> {
        let known = Self::load(disk, dir)?;
        let kept =
            Self { gaps_below: known.gaps_below.min(end), clean_below: known.clean_below.min(end) };
        if kept == known {
            Ok(())
        } else if end == Offset::ZERO {
            small_file::remove(disk, &dir.join(FILE_NAME))
        } else {
            kept.store(disk, dir)
        }
    }
}

impl fmt::Display for Compacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.gaps_below, self.clean_below)
    }
}

fn parse(row: &str) -> Option<Compacted> {
    let (gaps, clean) = row.split_once(' ')?;
    let offset = |text: &str| Offset::checked(text.parse().ok()?);
    Some(Compacted { gaps_below: offset(gaps)?, clean_below: offset(clean)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryDisk;

    const MARK: Compacted = Compacted { gaps_below: Offset::new(70), clean_below: Offset::new(50) };

    #[test]
    fn what_was_stored_is_loaded_and_damage_allows_gaps_anywhere() {
        let (disk, dir) = (MemoryDisk::default(), Path::new("/"));
        assert_eq!(Compacted::load(&disk, dir).unwrap(), Compacted::default());
        MARK.store(&disk, dir).unwrap();
        assert_eq!(Compacted::load(&disk, dir).unwrap(), MARK);
        small_file::replace(&disk, &dir.join(FILE_NAME), b"0\n1\n70 90\ncrc 0\n").unwrap();
        let found = Compacted::load(&disk, dir).unwrap();
        assert_eq!((found.gaps_below.get(), found.clean_below.get()), (i64::MAX, 0));
    }

    #[test]
    fn truncation_lowers_the_progress_of_compaction() {
        let (disk, dir) = (MemoryDisk::default(), Path::new("/"));
        MARK.store(&disk, dir).unwrap();
        for (end, gaps, clean) in [(80, 70, 50), (60, 60, 50), (20, 20, 20), (0, 0, 0)] {
            Compacted::truncate(&disk, dir, Offset::new(end)).unwrap();
            let found = Compacted::load(&disk, dir).unwrap();
            assert_eq!((found.gaps_below.get(), found.clean_below.get()), (gaps, clean));
        }
    }
}
