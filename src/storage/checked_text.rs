//! Small text files with a checksum.
//!
//! Lines end with a line feed:
//!
//! | line | content |
//! |---|---|
//! | first | version |
//! | second | number of rows |
//! | one per row | the row, in a form that depends on the kind of file |
//! | last | `crc ` and the CRC32C of all bytes before this line, 8 hexadecimal digits |
//!
//! A file of any version begins with the version line and ends with the CRC line. So damage can be
//! told from a file of a later release: a damaged file may be rebuilt, a later version is refused.

use std::fmt::{Display, Write};
use std::io;
use std::path::Path;

use crate::io::Disk;
use crate::storage::{Stored, small_file};

/// Replaces the file; the rows are durable on return. No row may contain a line feed.
pub(crate) fn write<R: Display>(
    disk: &dyn Disk,
    path: &Path,
    version: i64,
    rows: impl ExactSizeIterator<Item = R>,
) -> io::Result<()> {
    small_file::replace(disk, path, encode(version, rows).as_bytes())
}

/// Reads the file and parses each row with `parse`; a row that cannot be parsed is damage.
///
/// # Errors
/// `Unsupported` if its version is not `known`; otherwise the disk's error.
pub(crate) fn read<R>(
    disk: &dyn Disk,
    path: &Path,
    known: i64,
    parse: impl Fn(&str) -> Option<R>,
) -> io::Result<Stored<Vec<R>>> {
    let Some(bytes) = small_file::read(disk, path)? else {
        return Ok(Stored::Absent);
    };
    match decode(&bytes, known, parse) {
        Ok(Content::Rows(rows)) => Ok(Stored::Sound(rows)),
        Ok(Content::OtherVersion(version)) => Err(small_file::too_new(path, version, known)),
        Err(reason) => Ok(Stored::Damaged(reason)),
    }
}

/// Describes the damage of a file of this form, whatever its version and its rows. `None` if the
/// file is sound or absent.
pub(crate) fn flaw(disk: &dyn Disk, path: &Path) -> io::Result<Option<String>> {
    let Some(bytes) = small_file::read(disk, path)? else { return Ok(None) };
    let checked = checked(&bytes).and_then(|body| {
        let mut lines = body.lines();
        number(lines.next(), "version")?;
        number(lines.next(), "count")
    });
    Ok(checked.err())
}

/// A whole file's content.
enum Content<R> {
    Rows(Vec<R>),
    OtherVersion(i64),
}

/// Encodes a whole file with these rows. No row may contain a line feed.
pub(crate) fn encode<R: Display>(version: i64, rows: impl ExactSizeIterator<Item = R>) -> String {
    let mut text = format!("{version}\n{}\n", rows.len());
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{row}");
    }
    let crc = crc32c::crc32c(text.as_bytes());
    let _ = writeln!(text, "crc {crc:08x}");
    text
}

fn decode<R>(
    bytes: &[u8],
    known: i64,
    parse: impl Fn(&str) -> Option<R>,
) -> Result<Content<R>, String> {
    let mut lines = checked(bytes)?.lines();
    let version = number(lines.next(), "version")?;
    if version != known {
        return Ok(Content::OtherVersion(version));
    }
    let count = number(lines.next(), "count")?;
    let row = |line| parse(line).ok_or_else(|| format!("'{line}' is no row"));
    let rows: Vec<R> = lines.map(row).collect::<Result<_, _>>()?;
    if i64::try_from(rows.len()) == Ok(count) {
        Ok(Content::Rows(rows))
    } else {
        Err(format!("{count} rows announced, {} found", rows.len()))
    }
}

/// Returns the text before the CRC line, if the checksum matches.
fn checked(bytes: &[u8]) -> Result<&str, String> {
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
