//! Offsets by partition, one file per kind in a data directory: durable points, rebuild points, log
//! starts, high watermarks.
//!
//! Text, in lines that end with a line feed:
//!
//! | line | content |
//! |---|---|
//! | first | version: `0` |
//! | second | number of rows |
//! | one per row | `topic partition offset`, sorted |
//! | last | `crc ` and the CRC32C of all bytes before this line, 8 hexadecimal digits |
//!
//! Every version begins with its version line and ends with the CRC line, so that damage is told
//! from the work of a later release: the first is rebuilt and counted, the second refused.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use crate::io::Disk;
use crate::storage::{Stored, small_file};
use crate::types::{Offset, PartitionIndex, TopicPartition};

/// The offsets a checkpoint holds.
pub type Offsets = BTreeMap<TopicPartition, Offset>;

/// One checkpoint file.
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

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file; the offsets are durable on return.
    pub fn write(&self, disk: &dyn Disk, offsets: &Offsets) -> io::Result<()> {
        small_file::replace(disk, &self.path, encode(offsets).as_bytes())
    }

    /// What the file holds.
    ///
    /// # Errors
    /// `Unsupported` when a later release has written it; else as the disk failed.
    pub fn read(&self, disk: &dyn Disk) -> io::Result<Stored<Offsets>> {
        let Some(bytes) = small_file::read(disk, &self.path)? else {
            return Ok(Stored::Absent);
        };
        match decode(&bytes) {
            Ok(Content::Offsets(offsets)) => Ok(Stored::Sound(offsets)),
            Ok(Content::Newer(version)) => Err(small_file::too_new(&self.path, version, VERSION)),
            Err(reason) => Ok(Stored::Damaged(reason)),
        }
    }
}

/// A whole file's content.
enum Content {
    Offsets(Offsets),
    Newer(i64),
}

fn encode(offsets: &Offsets) -> String {
    let mut text = format!("{VERSION}\n{}\n", offsets.len());
    for (TopicPartition { topic, partition }, offset) in offsets {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{topic} {partition} {offset}");
    }
    let crc = crc32c::crc32c(text.as_bytes());
    let _ = writeln!(text, "crc {crc:08x}");
    text
}

fn decode(bytes: &[u8]) -> Result<Content, String> {
    let mut lines = checked_text(bytes)?.lines();
    let version = number(lines.next(), "version")?;
    if version != VERSION {
        return Ok(Content::Newer(version));
    }
    let count = number(lines.next(), "count")?;
    let rows: Offsets = lines.map(row).collect::<Result<_, _>>()?;
    if i64::try_from(rows.len()) == Ok(count) {
        Ok(Content::Offsets(rows))
    } else {
        Err(format!("{count} rows announced, {} found", rows.len()))
    }
}

/// The text before the CRC line, which it matches.
fn checked_text(bytes: &[u8]) -> Result<&str, String> {
    let text = str::from_utf8(bytes).map_err(|error| format!("no text: {error}"))?;
    let (body, last) =
        text.rsplit_once("crc ").ok_or_else(|| "the CRC line is missing".to_owned())?;
    let actual = crc32c::crc32c(body.as_bytes());
    if last == format!("{actual:08x}\n") {
        Ok(body)
    } else {
        Err(format!("CRC {} is written, the bytes give {actual:08x}", last.trim_end()))
    }
}

fn number(line: Option<&str>, what: &str) -> Result<i64, String> {
    line.and_then(|line| line.parse().ok()).ok_or_else(|| format!("the {what} is no number"))
}

fn row(line: &str) -> Result<(TopicPartition, Offset), String> {
    parse_row(line).ok_or_else(|| format!("'{line}' is no row"))
}

fn parse_row(line: &str) -> Option<(TopicPartition, Offset)> {
    let mut words = line.split(' ');
    let topic = words.next()?.parse().ok()?;
    let partition = PartitionIndex(words.next()?.parse().ok()?);
    let offset = Offset::checked(words.next()?.parse().ok()?)?;
    words.next().is_none().then_some((TopicPartition { topic, partition }, offset))
}
