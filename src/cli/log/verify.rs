//! `streamlog log verify DIR`: reads and verifies every batch.
//!
//! With `-o json`, each line describes a log; a last line lists the damage in files that belong to
//! no log, if there is any.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::broker::{DirectoryFinding, verify_directory};
use crate::cli::output::{Output, Row, Rows};
use crate::cli::progress::{Progress, Unit, is_watched};
use crate::cli::{CommandError, CtrlC, Exit};
use crate::storage::{Finding, LogReport, segment_bytes_system, verify_system};
use crate::types::Offset;

/// Verifies every batch of a data directory, or of one log.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The data directory, or the directory of one log in it
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

impl Options {
    /// Verifies the directory; `Failed` if anything is damaged.
    pub(super) fn answer(&self, out: &mut dyn Write, ctrl_c: &CtrlC) -> Result<Exit, CommandError> {
        let total = if is_watched() { segment_bytes_system(&self.dir)? } else { 0 };
        let progress = Progress::of(total, Unit::Bytes);
        let reports = verify_system(&self.dir, &mut |bytes| {
            progress.add(bytes);
            if ctrl_c.is_pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        drop(progress);
        ctrl_c.check()?;
        let files = verify_directory(&self.dir)?;
        match self.output {
            Output::Text => write_text(out, &reports, &files)?,
            output => {
                let dir = (!files.is_empty()).then(|| LogRow::of_directory(&self.dir, &files));
                Rows::new(output).write(out, reports.iter().map(LogRow::new).chain(dir))?;
            }
        }
        let is_sound = reports.iter().all(LogReport::is_sound)
            && !files.iter().any(|finding| finding.is_damage);
        Ok(if is_sound { Exit::Done } else { Exit::Failed })
    }
}

fn write_text(
    out: &mut dyn Write,
    reports: &[LogReport],
    files: &[DirectoryFinding],
) -> io::Result<()> {
    for DirectoryFinding { file, position, reason, is_damage } in files {
        let word = if *is_damage { "damaged" } else { "torn" };
        writeln!(out, "{word}: {} at {position}: {reason}", file.display())?;
    }
    for report in reports {
        let LogReport { dir, segments, batches, records, bytes, gaps, .. } = report;
        write!(out, "{}: {records} records, {batches} batches, {bytes} bytes, ", dir.display())?;
        write!(out, "{segments} segments, {gaps} gaps")?;
        if let Some(first) = report.first_offset {
            write!(out, ", offsets {first} to {}", last_offset(report))?;
        }
        writeln!(out)?;
        for finding in &report.findings {
            let word = if finding.is_damage() { "damaged" } else { "torn" };
            writeln!(out, "  {word}: {finding}")?;
        }
    }
    let total = |count: fn(&LogReport) -> u64| reports.iter().map(count).sum::<u64>();
    let damages = reports.iter().flat_map(|report| &report.findings).filter(|f| f.is_damage());
    let damaged_files = files.iter().filter(|finding| finding.is_damage).count();
    let verdict = match damages.count() + damaged_files {
        0 => "sound".to_owned(),
        count => format!("damaged in {count} places"),
    };
    let (records, batches) = (total(|report| report.records), total(|report| report.batches));
    let (logs, bytes) = (reports.len(), total(|report| report.bytes));
    writeln!(out, "{verdict}: {logs} logs, {records} records, {batches} batches, {bytes} bytes")
}

#[derive(Serialize)]
struct LogRow {
    dir: String,
    is_sound: bool,
    records: u64,
    batches: u64,
    bytes: u64,
    segments: u64,
    gaps: u64,
    first_offset: Option<i64>,
    next_offset: i64,
    findings: Vec<FindingRow>,
}

impl Row for LogRow {
    const COLUMNS: &'static [&'static str] = &[
        "dir",
        "is_sound",
        "records",
        "batches",
        "bytes",
        "segments",
        "gaps",
        "first_offset",
        "next_offset",
        "findings",
    ];
}

#[derive(Serialize)]
struct FindingRow {
    file: String,
    position: u64,
    is_damage: bool,
    reason: String,
}

impl LogRow {
    fn new(report: &LogReport) -> Self {
        Self {
            dir: report.dir.display().to_string(),
            is_sound: report.is_sound(),
            records: report.records,
            batches: report.batches,
            bytes: report.bytes,
            segments: report.segments,
            gaps: report.gaps,
            first_offset: report.first_offset.map(Offset::get),
            next_offset: report.next_offset.get(),
            findings: report.findings.iter().map(FindingRow::new).collect(),
        }
    }
}

impl LogRow {
    /// The row of files that belong to no log.
    fn of_directory(dir: &Path, files: &[DirectoryFinding]) -> Self {
        let finding = |finding: &DirectoryFinding| FindingRow {
            file: finding.file.display().to_string(),
            position: finding.position,
            is_damage: finding.is_damage,
            reason: finding.reason.clone(),
        };
        Self {
            dir: dir.display().to_string(),
            is_sound: !files.iter().any(|finding| finding.is_damage),
            records: 0,
            batches: 0,
            bytes: 0,
            segments: 0,
            gaps: 0,
            first_offset: None,
            next_offset: 0,
            findings: files.iter().map(finding).collect(),
        }
    }
}

impl FindingRow {
    fn new(finding: &Finding) -> Self {
        Self {
            file: finding.path.display().to_string(),
            position: finding.position,
            is_damage: finding.is_damage(),
            reason: finding.flaw.to_string(),
        }
    }
}

/// The last offset of a non-empty log.
fn last_offset(report: &LogReport) -> i64 {
    report.next_offset.get() - 1
}
