//! The audit log of a data directory: damage that operators have skipped.
//!
//! `audit.log` is a text file that only grows, with a line for each decision: its time, the verb,
//! the partition, then `name=value` for each fact, and last the requester. A line is durable before
//! its decision takes effect; a later line with the verb `failed …` means that the decision did not
//! take effect. Each line ends with `crc=` and the CRC-32C of the text before that; earlier
//! releases wrote none.

use std::fmt::Display;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp as Instant;

use crate::io::{Disk, File, OpenMode, read_exact_at, write_all_at};
use crate::storage::{StorageError, small_file};
use crate::types::Timestamp;

/// The text before the checksum of a line.
const CHECKSUM: &str = " crc=";

/// The audit log. Lines are appended one at a time.
#[derive(Debug)]
pub(in crate::storage) struct AuditLog {
    path: PathBuf,
    turn: Mutex<()>,
}

impl AuditLog {
    /// The audit log at `path`, which need not exist.
    pub(in crate::storage) fn at(path: PathBuf) -> Self {
        Self { path, turn: Mutex::default() }
    }

    /// Appends a line, durably, and writes it to the broker's log as well.
    pub(in crate::storage) fn append(
        &self,
        disk: &dyn Disk,
        now: Timestamp,
        decision: &dyn Display,
    ) -> Result<(), StorageError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        tracing::warn!("audit: {decision}");
        let time = Instant::from_millisecond(now.millis()).unwrap_or(Instant::UNIX_EPOCH);
        let line = format!("{time:.3} {decision}");
        let crc = crc32c::crc32c(line.as_bytes());
        self.write(disk, &format!("{line}{CHECKSUM}{crc:08x}\n"))
            .map_err(|error| StorageError::io("write", &self.path, error))
    }

    fn write(&self, disk: &dyn Disk, line: &str) -> io::Result<()> {
        let file = disk.open(&self.path, OpenMode::Create)?;
        // A crash may have torn the last line. The decision of a torn line has not taken effect.
        let end = end_of_lines(&*file)?;
        file.set_len(end)?;
        let written = write_all_at(&*file, &mut [IoSlice::new(line.as_bytes())], end);
        if let Err(error) = written {
            let _ = file.set_len(end);
            return Err(error);
        }
        file.sync_data()?;
        disk.sync_dir(self.path.parent().unwrap_or(Path::new("")))
    }
}

/// The end of the last complete line.
fn end_of_lines(file: &dyn File) -> io::Result<u64> {
    let mut end = file.len()?;
    let mut last = [0];
    while end > 0 {
        read_exact_at(file, &mut last, end - 1)?;
        if last == *b"\n" {
            break;
        }
        end -= 1;
    }
    Ok(end)
}

/// The first damaged line of an audit log, if there is one: its position and the fault. A torn line
/// at the end is no damage.
///
/// # Errors
/// Those of the disk.
pub(in crate::storage) fn flaw(disk: &dyn Disk, path: &Path) -> io::Result<Option<(u64, String)>> {
    let Some(bytes) = small_file::read(disk, path)? else { return Ok(None) };
    let (mut position, mut has_checksums) = (0, false);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(line_flaw) = line.strip_suffix(b"\n").map(|line| flaw_of(line, has_checksums))
        else {
            break;
        };
        match line_flaw {
            Ok(has_checksum) => has_checksums |= has_checksum,
            Err(reason) => return Ok(Some((position, reason))),
        }
        position += line.len() as u64;
    }
    Ok(None)
}

/// Checks a line, and returns true if it has a checksum. After a line with a checksum, every line
/// needs one.
fn flaw_of(line: &[u8], needs_checksum: bool) -> Result<bool, String> {
    let text = str::from_utf8(line).map_err(|error| format!("no text: {error}"))?;
    if let Some((body, crc)) = text.rsplit_once(CHECKSUM) {
        let actual = crc32c::crc32c(body.as_bytes());
        if crc == format!("{actual:08x}") {
            return Ok(true);
        }
        return Err(format!("CRC {crc} is written, the bytes give {actual:08x}"));
    }
    let is_of_earlier_release = text.ends_with('"')
        && text.split_once(' ').is_some_and(|(time, _)| time.parse::<Instant>().is_ok());
    if is_of_earlier_release && !needs_checksum {
        Ok(false)
    } else {
        Err("a line without a checksum".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryDisk;

    const PATH: &str = "/audit.log";
    const OLD: &str = "2026-11-22T10:00:00.000Z skip-damage t-0 by=\"User from 127.0.0.1\"\n";

    fn written(text: &[u8]) -> MemoryDisk {
        let disk = MemoryDisk::default();
        small_file::write_new(&disk, Path::new(PATH), text).unwrap();
        disk
    }

    fn append(disk: &MemoryDisk, decision: &str) {
        let log = AuditLog::at(PATH.into());
        log.append(disk, Timestamp::from_millis(1_800_000_000_000), &decision).unwrap();
    }

    fn text(disk: &MemoryDisk) -> String {
        let bytes = small_file::read(disk, Path::new(PATH)).unwrap().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_changed_bit_of_a_line_with_a_checksum_is_found() {
        let disk = written(b"");
        append(&disk, "skip-damage t-0 by=\"one\"");
        append(&disk, "skip-damage t-1 by=\"two\"");
        assert_eq!(flaw(&disk, Path::new(PATH)).unwrap(), None);
        let sound = text(&disk).into_bytes();
        for bit in 0..(sound.len() - 1) * 8 {
            let mut bytes = sound.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let found = flaw(&written(&bytes), Path::new(PATH)).unwrap();
            assert!(found.is_some(), "bit {bit} of {}", text(&disk));
        }
    }

    #[test]
    fn lines_of_earlier_releases_are_sound_before_those_with_a_checksum() {
        let disk = written(OLD.as_bytes());
        append(&disk, "skip-damage t-1 by=\"two\"");
        assert_eq!(flaw(&disk, Path::new(PATH)).unwrap(), None);
        let reversed = text(&disk).split_off(OLD.len()) + OLD;
        assert!(flaw(&written(reversed.as_bytes()), Path::new(PATH)).unwrap().is_some());
    }

    #[test]
    fn a_torn_line_is_no_damage_and_is_removed_before_the_next() {
        let disk = written(b"");
        append(&disk, "skip-damage t-0 by=\"one\"");
        let whole = text(&disk);
        for cut in 1..whole.len() {
            let disk = written(format!("{whole}{}", &whole[..cut]).as_bytes());
            assert_eq!(flaw(&disk, Path::new(PATH)).unwrap(), None, "cut at {cut}");
            append(&disk, "skip-damage t-0 by=\"one\"");
            assert_eq!(text(&disk), format!("{whole}{whole}"), "cut at {cut}");
        }
    }
}
