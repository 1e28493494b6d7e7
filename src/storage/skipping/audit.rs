//! The audit log of a data directory: the decisions of people that gave up records.
//!
//! `audit.log` is text that only grows, a line for each decision: its time, the verb, the
//! partition, then `name=value` for each fact, and last who asked. A line is durable before what it
//! tells of takes effect; a line `failed` after it says that it did not.

use std::fmt::Display;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp as Instant;

use crate::io::{Disk, OpenMode, read_exact_at, write_all_at};
use crate::storage::StorageError;
use crate::types::Timestamp;

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

    /// Appends a line, durably, and shows it in the log of the broker.
    pub(in crate::storage) fn append(
        &self,
        disk: &dyn Disk,
        now: Timestamp,
        decision: &dyn Display,
    ) -> Result<(), StorageError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        tracing::warn!("audit: {decision}");
        let time = Instant::from_millisecond(now.millis()).unwrap_or(Instant::UNIX_EPOCH);
        self.write(disk, &format!("{time:.3} {decision}\n"))
            .map_err(|error| StorageError::io("write", &self.path, error))
    }

    fn write(&self, disk: &dyn Disk, line: &str) -> io::Result<()> {
        let file = disk.open(&self.path, OpenMode::Create)?;
        let end = file.len()?;
        // A crash may have torn the last line; this one must be whole by itself.
        let line = if end > 0 && !ends_a_line(&*file, end)? {
            format!("\n{line}")
        } else {
            line.to_owned()
        };
        let written = write_all_at(&*file, &mut [IoSlice::new(line.as_bytes())], end);
        if let Err(error) = written {
            let _ = file.set_len(end);
            return Err(error);
        }
        file.sync_data()?;
        disk.sync_dir(self.path.parent().unwrap_or(Path::new("")))
    }
}

fn ends_a_line(file: &dyn crate::io::File, end: u64) -> io::Result<bool> {
    let mut last = [0];
    read_exact_at(file, &mut last, end - 1)?;
    Ok(last == *b"\n")
}
