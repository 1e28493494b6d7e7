//! The names of a segment's files.
//!
//! | name | holds |
//! |---|---|
//! | `%020d.log` | batches; the number is the segment's base offset |
//! | `%020d.index`, `%020d.timeindex` | the sparse indexes |
//! | `%020d.seal` | the facts about a segment, and the digests of its headers |
//! | `….log.cleaned` | a replacement being written; ignored until it is complete |
//! | `….log.swap` | a complete replacement, for all segments that its offsets cover |
//! | `….index.cleaned`, `….timeindex.cleaned`, `….seal.cleaned` | a replacement's other files |
//! | `….deleted` | a file that is waiting to be deleted |

use std::path::{Path, PathBuf};

use crate::types::Offset;

/// The kind of a segment's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Batches.
    Log,
    /// Positions by offset.
    OffsetIndex,
    /// Offsets by timestamp.
    TimeIndex,
    /// The facts about a segment, and the digests of its headers.
    Seal,
    /// A replacement being written.
    Cleaned,
    /// A complete replacement.
    Swap,
    /// The offset index of a replacement.
    CleanedOffsetIndex,
    /// The time index of a replacement.
    CleanedTimeIndex,
    /// The seal of a replacement. It is written last: if it exists, so do the indexes.
    CleanedSeal,
    /// A file to be deleted.
    Deleted,
}

/// The parts of a file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentFile {
    /// The number in the name.
    pub(crate) base: Offset,
    /// The kind of the file.
    pub(crate) kind: FileKind,
}

const DIGITS: usize = 20;

impl FileKind {
    /// The files of a segment, in the order in which they are removed: without the batches the
    /// others are meaningless.
    pub(crate) const OF_SEGMENT: [Self; 4] =
        [Self::Log, Self::OffsetIndex, Self::TimeIndex, Self::Seal];

    /// The files of a replacement that is not complete yet.
    pub(crate) const OF_CLEANED: [Self; 4] =
        [Self::Cleaned, Self::CleanedOffsetIndex, Self::CleanedTimeIndex, Self::CleanedSeal];

    /// The renames that turn a complete replacement into a segment, in this order. While the swap
    /// file exists, so does its seal, and an index that has lost its temporary name is the new one.
    pub(crate) const FINAL_NAMES: [(Self, Self); 4] = [
        (Self::CleanedOffsetIndex, Self::OffsetIndex),
        (Self::CleanedTimeIndex, Self::TimeIndex),
        (Self::Swap, Self::Log),
        (Self::CleanedSeal, Self::Seal),
    ];

    fn suffix(self) -> &'static str {
        match self {
            Self::Log => ".log",
            Self::OffsetIndex => ".index",
            Self::TimeIndex => ".timeindex",
            Self::Seal => ".seal",
            Self::Cleaned => ".log.cleaned",
            Self::Swap => ".log.swap",
            Self::CleanedOffsetIndex => ".index.cleaned",
            Self::CleanedTimeIndex => ".timeindex.cleaned",
            Self::CleanedSeal => ".seal.cleaned",
            Self::Deleted => ".deleted",
        }
    }
}

impl SegmentFile {
    /// Parses a file name; `None` if it is not a segment's.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (digits, suffix) = name.split_at_checked(DIGITS)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let base = Offset::checked(digits.parse().ok()?)?;
        if suffix.ends_with(FileKind::Deleted.suffix()) {
            return Some(Self { base, kind: FileKind::Deleted });
        }
        [FileKind::Swap]
            .into_iter()
            .chain(FileKind::OF_CLEANED)
            .chain(FileKind::OF_SEGMENT)
            .find(|kind| kind.suffix() == suffix)
            .map(|kind| Self { base, kind })
    }

    /// The path of a kind of file, for the segment that begins at `base`.
    pub(crate) fn path(dir: &Path, base: Offset, kind: FileKind) -> PathBuf {
        dir.join(format!("{:0DIGITS$}{}", base.get(), kind.suffix()))
    }
}

/// The base offset of a segment from the name that its batches have from its removal until they are
/// deleted; `None` for other names.
pub(crate) fn removed_segment(name: &str) -> Option<Offset> {
    let file = SegmentFile::parse(name.strip_suffix(FileKind::Deleted.suffix())?)?;
    (file.kind == FileKind::Log).then_some(file.base)
}

/// The name of a file from its removal until it is deleted.
pub(crate) fn deleted(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(FileKind::Deleted.suffix());
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_its_path_was_made_of() {
        let base = Offset::new(1234);
        let kinds = FileKind::OF_SEGMENT.into_iter().chain(FileKind::OF_CLEANED);
        for kind in kinds.chain([FileKind::Swap]) {
            let path = SegmentFile::path(Path::new("x"), base, kind);
            let name = path.file_name().and_then(|name| name.to_str()).unwrap();
            assert_eq!(SegmentFile::parse(name), Some(SegmentFile { base, kind }));
            let gone = deleted(&path);
            let name = gone.file_name().and_then(|name| name.to_str()).unwrap();
            let is_log = kind == FileKind::Log;
            assert_eq!(removed_segment(name), is_log.then_some(base));
            let kind = FileKind::Deleted;
            assert_eq!(SegmentFile::parse(name), Some(SegmentFile { base, kind }));
        }
        assert_eq!(removed_segment("00000000000000001234.log"), None);
    }

    #[test]
    fn a_strange_name_is_no_segment() {
        for name in [
            "",
            "1.log",
            "0000000000000000000x.log",
            "00000000000000000001.lag",
            "99999999999999999999.log",
        ] {
            assert_eq!(SegmentFile::parse(name), None, "{name}");
        }
    }
}
