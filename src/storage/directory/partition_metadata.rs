//! The topic of the log in a directory: `partition.metadata`.
//!
//! | line | meaning |
//! |---|---|
//! | `version: 0` | |
//! | `topic_id: …` | the topic's id, 22 characters of base64 |
//! | `offset_unit: …` | `record` or `byte`; it never changes |
//! | `crc: …` | CRC32C of all bytes before this line, 8 hexadecimal digits |
//!
//! The first two lines are those of Kafka's file (KIP-516). The file is written before the log's
//! directory gets its name, and is never changed; if it is lost, the next start writes it again,
//! provided that the metadata leaves no doubt about the topic. Data is matched by the id in it,
//! never by the directory's name alone.

use std::path::{Path, PathBuf};

use crate::io::Disk;
use crate::storage::{OffsetUnit, StorageError, Stored, small_file};
use crate::types::TopicId;

/// The topic of the log in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// The topic.
    pub topic_id: TopicId,
    /// The unit that its offsets count.
    pub offset_unit: OffsetUnit,
}

/// The name of the file, which marks a log's directory.
pub(crate) const FILE_NAME: &str = "partition.metadata";

impl PartitionMetadata {
    /// Writes the file into `dir`; its bytes are durable on return, its name once the directory is
    /// synced.
    pub(super) fn write(self, disk: &dyn Disk, dir: &Path) -> Result<(), StorageError> {
        let path = path_in(dir);
        small_file::write_new(disk, &path, self.encode().as_bytes())
            .map_err(|source| StorageError::io("write", &path, source))
    }

    /// Replaces the damaged or missing file of an existing log; durable on return.
    pub(super) fn replace(self, disk: &dyn Disk, dir: &Path) -> Result<(), StorageError> {
        let path = path_in(dir);
        small_file::replace(disk, &path, self.encode().as_bytes())
            .map_err(|source| StorageError::io("write", &path, source))
    }

    /// Reads the file in `dir`.
    ///
    /// # Errors
    /// If it is a later release's or cannot be read.
    pub(crate) fn read(disk: &dyn Disk, dir: &Path) -> Result<Stored<Self>, StorageError> {
        let path = path_in(dir);
        let bytes = small_file::read(disk, &path)
            .map_err(|source| StorageError::io("read", &path, source))?;
        let Some(bytes) = bytes else { return Ok(Stored::Absent) };
        match decode(&bytes) {
            Ok((0, Some(metadata))) => Ok(Stored::Sound(metadata)),
            Ok((0, None)) => Ok(Stored::Damaged("a line is missing or unreadable".to_owned())),
            Ok((version, _)) => {
                let source = small_file::too_new(&path, version, 0);
                Err(StorageError::TooNew { path, source })
            }
            Err(reason) => Ok(Stored::Damaged(reason)),
        }
    }

    fn encode(self) -> String {
        let Self { topic_id, offset_unit } = self;
        let text = format!("version: 0\ntopic_id: {topic_id}\noffset_unit: {offset_unit}\n");
        let crc = crc32c::crc32c(text.as_bytes());
        format!("{text}crc: {crc:08x}\n")
    }
}

/// The path of the file of a log.
pub(super) fn path_in(dir: &Path) -> PathBuf {
    dir.join(FILE_NAME)
}

/// The file of the log in `dir` and its damage, if any.
pub(crate) fn metadata_flaw(
    disk: &dyn Disk,
    dir: &Path,
) -> Result<Option<(PathBuf, String)>, StorageError> {
    Ok(match PartitionMetadata::read(disk, dir)? {
        Stored::Sound(_) => None,
        Stored::Absent => Some((path_in(dir), "it is missing".to_owned())),
        Stored::Damaged(reason) => Some((path_in(dir), reason)),
    })
}

/// The version, and the content if it can be read as that of version 0.
fn decode(bytes: &[u8]) -> Result<(i64, Option<PartitionMetadata>), String> {
    let text = str::from_utf8(bytes).map_err(|error| format!("no text: {error}"))?;
    let (body, crc) =
        text.rsplit_once("crc: ").ok_or_else(|| "the CRC line is missing".to_owned())?;
    let actual = crc32c::crc32c(body.as_bytes());
    if crc != format!("{actual:08x}\n") {
        return Err(format!("CRC {} is written, the bytes give {actual:08x}", crc.trim_end()));
    }
    let value = |key: &str| {
        let line = body.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|rest| rest.strip_prefix(": "))
    };
    let version = value("version").and_then(|version| version.parse().ok());
    let metadata = || {
        Some(PartitionMetadata {
            topic_id: value("topic_id")?.parse().ok()?,
            offset_unit: value("offset_unit")?.parse().ok()?,
        })
    };
    let version = version.ok_or_else(|| "the version is no number".to_owned())?;
    Ok((version, metadata()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryDisk;

    #[test]
    fn written_metadata_is_read_and_any_change_is_damage() {
        let (disk, dir) = (MemoryDisk::default(), Path::new("/"));
        assert_eq!(PartitionMetadata::read(&disk, dir).unwrap(), Stored::Absent);
        let metadata =
            PartitionMetadata { topic_id: TopicId([7; 16]), offset_unit: OffsetUnit::Byte };
        metadata.write(&disk, dir).unwrap();
        assert_eq!(PartitionMetadata::read(&disk, dir).unwrap(), Stored::Sound(metadata));

        let sound = small_file::read(&disk, &path_in(dir)).unwrap().unwrap();
        for position in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[position] ^= 1;
            small_file::write_new(&disk, &path_in(dir), &bytes).unwrap();
            let read = PartitionMetadata::read(&disk, dir).unwrap();
            assert!(matches!(read, Stored::Damaged(_)), "byte {position}: {read:?}");
        }
    }
}
