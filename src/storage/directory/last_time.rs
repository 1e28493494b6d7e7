//! The last wall time considered plausible: `last-known-time`.
//!
//! A checked text of version 0 with the row `time <milliseconds since 1970, UTC>`. At a start it
//! shows whether the clock was set since the last run. Without it, or if it is damaged, the clock
//! is trusted; the file is soon written again.

use std::fmt;
use std::path::Path;

use crate::io::Disk;
use crate::storage::directory::names;
use crate::storage::{DataDir, StorageError, Stored, checked_text};
use crate::types::Timestamp;

const VERSION: i64 = 0;

/// The row of the file.
struct LastTime(Timestamp);

impl LastTime {
    fn parse(row: &str) -> Option<Self> {
        let millis = row.strip_prefix("time ")?.parse().ok()?;
        Some(Self(Timestamp::from_millis(millis)))
    }
}

impl fmt::Display for LastTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "time {}", self.0.millis())
    }
}

/// Reads the time recorded by an earlier run.
pub(super) fn read(disk: &dyn Disk, dir: &Path) -> Result<Stored<Timestamp>, StorageError> {
    let path = dir.join(names::LAST_TIME);
    let rows = checked_text::read(disk, &path, VERSION, LastTime::parse)
        .map_err(|source| StorageError::read(&path, source))?;
    Ok(match rows {
        Stored::Absent => Stored::Absent,
        Stored::Damaged(reason) => Stored::Damaged(reason),
        Stored::Sound(rows) => match rows.as_slice() {
            [LastTime(time)] => Stored::Sound(*time),
            _ => Stored::Damaged("one row is expected".to_owned()),
        },
    })
}

/// The time recorded by an earlier run. A damaged file is added to those that are `rebuilt`.
pub(super) fn known(
    disk: &dyn Disk,
    dir: &Path,
    rebuilt: &mut Vec<&'static str>,
) -> Result<Option<Timestamp>, StorageError> {
    Ok(match read(disk, dir)? {
        Stored::Sound(time) => Some(time),
        Stored::Absent => None,
        Stored::Damaged(_) => {
            rebuilt.push(names::LAST_TIME);
            None
        }
    })
}

impl DataDir {
    /// The last wall time that an earlier run has recorded.
    pub fn last_known_time(&self) -> Option<Timestamp> {
        self.last_known_time
    }

    /// Records a plausible wall time; durable on return.
    ///
    /// # Errors
    /// Those of the disk; or if the directory was removed or replaced.
    pub fn record_time(&self, time: Timestamp) -> Result<(), StorageError> {
        self.require_in_place()?;
        let path = self.path().join(names::LAST_TIME);
        let row = LastTime(time);
        checked_text::write(&*self.disk, &path, VERSION, std::iter::once(&row))
            .map_err(|source| StorageError::io("write", &path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryDisk;
    use crate::storage::small_file;

    #[test]
    fn a_time_is_read_as_it_was_written_and_damage_is_reported() {
        let (disk, dir) = (MemoryDisk::default(), Path::new("/"));
        assert_eq!(read(&disk, dir).unwrap(), Stored::Absent);
        let path = dir.join(names::LAST_TIME);
        let time = Timestamp::from_millis(1_700_000_000_123);
        checked_text::write(&disk, &path, VERSION, [LastTime(time)].iter()).unwrap();
        assert_eq!(read(&disk, dir).unwrap(), Stored::Sound(time));

        let mut bytes = small_file::read(&disk, &path).unwrap().unwrap();
        bytes[7] ^= 1;
        small_file::replace(&disk, &path, &bytes).unwrap();
        assert!(matches!(read(&disk, dir).unwrap(), Stored::Damaged(_)));
    }
}
