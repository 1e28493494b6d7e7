//! Offsets by partition, one file per kind in a data directory: durable points, rebuild points, log
//! starts, high watermarks.
//!
//! A checked text of version 0 whose rows are `topic partition offset`, sorted.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::io::Disk;
use crate::storage::{Stored, checked_text};
use crate::types::{Offset, PartitionIndex, TopicPartition};

/// The offsets of a checkpoint, by partition.
pub type Offsets = BTreeMap<TopicPartition, Offset>;

/// A checkpoint file. It has one writer at a time.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    path: PathBuf,
}

const VERSION: i64 = 0;

impl Checkpoint {
    /// The checkpoint of this name in a data directory.
    pub fn new(dir: &Path, name: &str) -> Self {
        Self { path: dir.join(name) }
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Encodes a whole file with these offsets.
    pub(crate) fn encode(offsets: &Offsets) -> Vec<u8> {
        checked_text::encode(VERSION, rows(offsets)).into_bytes()
    }

    /// Replaces the file; the offsets are durable on return.
    #[cfg(any(test, feature = "internals"))]
    pub fn write(&self, disk: &dyn Disk, offsets: &Offsets) -> io::Result<()> {
        checked_text::write(disk, &self.path, VERSION, rows(offsets))
    }

    /// Reads the file.
    ///
    /// # Errors
    /// `Unsupported` if a later release has written it; otherwise the disk's error.
    pub fn read(&self, disk: &dyn Disk) -> io::Result<Stored<Offsets>> {
        Ok(match checked_text::read(disk, &self.path, VERSION, parse_row)? {
            Stored::Absent => Stored::Absent,
            Stored::Damaged(reason) => Stored::Damaged(reason),
            Stored::Sound(rows) => Stored::Sound(rows.into_iter().collect()),
        })
    }
}

fn rows(offsets: &Offsets) -> impl ExactSizeIterator<Item = String> {
    offsets.iter().map(|(TopicPartition { topic, partition }, offset)| {
        format!("{topic} {partition} {offset}")
    })
}

fn parse_row(line: &str) -> Option<(TopicPartition, Offset)> {
    let mut words = line.split(' ');
    let topic = words.next()?.parse().ok()?;
    let partition = PartitionIndex(words.next()?.parse().ok()?);
    let offset = Offset::checked(words.next()?.parse().ok()?)?;
    words.next().is_none().then_some((TopicPartition { topic, partition }, offset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{MemoryDisk, OpenMode};
    use crate::storage::small_file;

    fn offsets() -> Offsets {
        [("web", 0, 7), ("web", 10, 0), ("crc", 2, i64::MAX)]
            .map(|(topic, partition, offset)| {
                let topic = topic.parse().unwrap();
                let partition = PartitionIndex(partition);
                (TopicPartition { topic, partition }, Offset::new(offset))
            })
            .into()
    }

    fn written() -> (MemoryDisk, Checkpoint) {
        let disk = MemoryDisk::default();
        let checkpoint = Checkpoint::new(Path::new("/"), "durable-points");
        checkpoint.write(&disk, &offsets()).unwrap();
        (disk, checkpoint)
    }

    fn overwrite(disk: &MemoryDisk, checkpoint: &Checkpoint, bytes: &[u8]) {
        small_file::write_new(disk, checkpoint.path(), bytes).unwrap();
    }

    #[test]
    fn written_offsets_are_read() {
        let (disk, checkpoint) = written();
        assert_eq!(checkpoint.read(&disk).unwrap(), Stored::Sound(offsets()));
        checkpoint.write(&disk, &Offsets::new()).unwrap();
        assert_eq!(checkpoint.read(&disk).unwrap(), Stored::Sound(Offsets::new()));
    }

    #[test]
    fn the_text_is_the_documented_one() {
        let (disk, checkpoint) = written();
        let bytes = small_file::read(&disk, checkpoint.path()).unwrap().unwrap();
        let rows = "0\n3\ncrc 2 9223372036854775807\nweb 0 7\nweb 10 0\n";
        let expected = format!("{rows}crc {:08x}\n", crc32c::crc32c(rows.as_bytes()));
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn an_absent_checkpoint_differs_from_a_damaged_one() {
        let checkpoint = Checkpoint::new(Path::new("/"), "durable-points");
        assert_eq!(checkpoint.read(&MemoryDisk::default()).unwrap(), Stored::Absent);
    }

    #[test]
    fn any_byte_changed_or_cut_off_is_damage() {
        let (disk, checkpoint) = written();
        let sound = small_file::read(&disk, checkpoint.path()).unwrap().unwrap();
        for position in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[position] ^= 1;
            overwrite(&disk, &checkpoint, &bytes);
            let read = checkpoint.read(&disk).unwrap();
            assert!(matches!(read, Stored::Damaged(_)), "byte {position}: {read:?}");
        }
        for length in 0..sound.len() {
            disk.open(checkpoint.path(), OpenMode::Write).unwrap().set_len(0).unwrap();
            overwrite(&disk, &checkpoint, &sound[..length]);
            let read = checkpoint.read(&disk).unwrap();
            assert!(matches!(read, Stored::Damaged(_)), "cut to {length}: {read:?}");
        }
    }

    #[test]
    fn a_checkpoint_of_a_later_release_is_refused() {
        let (disk, checkpoint) = written();
        let body = "1\n0\nsomething else\n";
        let crc = crc32c::crc32c(body.as_bytes());
        overwrite(&disk, &checkpoint, format!("{body}crc {crc:08x}\n").as_bytes());
        let error = checkpoint.read(&disk).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }
}
