//! The two files of a journal: their names, reading and writing.
//!
//! `<number>.journal` and its mirror `<number>.mirror` hold the same bytes. A file that is still
//! being written ends in `.tmp`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, ErrorKind, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::{Disk, File, OpenMode, write_all_at};
use crate::metadata::store::StoreError;

const UNFINISHED: &str = ".tmp";
/// The error code of an unreadable sector.
const EIO: i32 = 5;

/// One of the two files of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Primary,
    Mirror,
}

impl Side {
    pub(super) const ALL: [Self; 2] = [Self::Primary, Self::Mirror];

    fn suffix(self) -> &'static str {
        match self {
            Self::Primary => ".journal",
            Self::Mirror => ".mirror",
        }
    }

    fn name(self, number: u64) -> String {
        format!("{number:020}{}", self.suffix())
    }

    /// The path of this side of a journal.
    pub(super) fn path(self, dir: &Path, number: u64) -> PathBuf {
        dir.join(self.name(number))
    }

    /// The path of this side while it is being written.
    pub(super) fn unfinished_path(self, dir: &Path, number: u64) -> PathBuf {
        dir.join(format!("{}{UNFINISHED}", self.name(number)))
    }

    /// Parses the journal's number and side from a file name.
    fn of(name: &str) -> Option<(u64, Self)> {
        Self::ALL.into_iter().find_map(|side| {
            let digits = name.strip_suffix(side.suffix())?;
            let number = (digits.len() == 20).then(|| digits.parse().ok()).flatten()?;
            Some((number, side))
        })
    }
}

/// The journals in a directory.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The existing sides, by journal number.
    pub(super) journals: BTreeMap<u64, BTreeSet<Side>>,
    /// Files that were never completed.
    pub(super) unfinished: Vec<PathBuf>,
}

impl Listing {
    pub(super) fn of(disk: &dyn Disk, dir: &Path) -> Result<Self, StoreError> {
        let mut listing = Self::default();
        for entry in disk.list(dir).map_err(cannot("list", dir))? {
            if let Some((number, side)) = Side::of(&entry.name) {
                listing.journals.entry(number).or_default().insert(side);
            } else if entry.name.strip_suffix(UNFINISHED).is_some_and(|n| Side::of(n).is_some()) {
                listing.unfinished.push(dir.join(&entry.name));
            }
        }
        Ok(listing)
    }
}

/// The contents of one side.
#[derive(Debug)]
pub(super) enum Content {
    Absent,
    /// A part cannot be read from the medium.
    Unreadable(io::Error),
    Bytes(Vec<u8>),
}

impl Content {
    /// Reads one side from the medium.
    ///
    /// # Errors
    /// If the system fails for a reason other than the medium.
    pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Self, StoreError> {
        let file = match disk.open(path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::Absent),
            Err(error) => return Err(cannot("open", path)(error)),
        };
        match read_all(&*file) {
            Ok(bytes) => Ok(Self::Bytes(bytes)),
            Err(error) if error.raw_os_error() == Some(EIO) => Ok(Self::Unreadable(error)),
            Err(error) => Err(cannot("read", path)(error)),
        }
    }

    /// The readable bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Absent | Self::Unreadable(_) => &[],
        }
    }

    /// The difference from the intact journal, or `None`. Bytes after the journal's end do not
    /// count.
    pub(super) fn flaw(&self, journal: &[u8], last_record: usize) -> Option<SideFlaw> {
        let bytes = match self {
            Self::Absent => return Some(SideFlaw::Absent),
            Self::Unreadable(error) => return Some(SideFlaw::Unreadable(error.to_string())),
            Self::Bytes(bytes) => bytes,
        };
        let differs = |(ours, theirs): (&u8, &u8)| ours != theirs;
        let position = journal.iter().zip(bytes).position(differs).or_else(|| {
            let length = bytes.len().min(journal.len());
            (length < journal.len()).then_some(length)
        })?;
        Some(if position >= last_record {
            SideFlaw::LastTransaction { position }
        } else if position == bytes.len() {
            SideFlaw::CutOff { position }
        } else {
            SideFlaw::Damaged { position }
        })
    }
}

/// The way in which one side of a journal differs from the intact journal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SideFlaw {
    Absent,
    Unreadable(String),
    /// Bytes before the last transaction differ from those written.
    Damaged {
        position: usize,
    },
    /// The file ends before the last transaction begins.
    CutOff {
        position: usize,
    },
    /// The last transaction is incomplete: a crash may have come between the writes to the two
    /// sides.
    LastTransaction {
        position: usize,
    },
}

impl SideFlaw {
    /// True if only a fault of the disk, or a person, can be the cause.
    pub(super) fn is_damage(&self) -> bool {
        !matches!(self, Self::LastTransaction { .. })
    }

    pub(super) fn position(&self) -> usize {
        match self {
            Self::Absent | Self::Unreadable(_) => 0,
            Self::Damaged { position }
            | Self::CutOff { position }
            | Self::LastTransaction { position } => *position,
        }
    }
}

impl fmt::Display for SideFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("it is missing"),
            Self::Unreadable(reason) => write!(f, "it cannot be read: {reason}"),
            Self::Damaged { .. } => f.write_str("its bytes are not what was written"),
            Self::CutOff { .. } => f.write_str("it is cut off"),
            Self::LastTransaction { .. } => f.write_str("its last transaction is not whole"),
        }
    }
}

/// Writes one side of a journal that is not yet in force; durable on return.
pub(super) fn write_new(
    disk: &dyn Disk,
    path: &Path,
    bytes: &[u8],
) -> Result<Arc<dyn File>, StoreError> {
    let file = disk.open(path, OpenMode::Create).map_err(cannot("create", path))?;
    file.set_len(0)
        .and_then(|()| write_all_at(&*file, &mut [IoSlice::new(bytes)], 0))
        .and_then(|()| file.sync_data())
        .map_err(cannot("write", path))?;
    Ok(file)
}

/// Reads all bytes of the file from the medium.
fn read_all(file: &dyn File) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.len()?).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    let mut done = 0;
    while done < length {
        match file.read_medium_at(&mut bytes[done..], done as u64) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => done += count,
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

pub(super) fn cannot<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl Fn(io::Error) -> StoreError + 'a {
    move |source| StoreError::Io { action, file: path.to_owned(), source }
}
