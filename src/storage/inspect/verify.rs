//! `streamlog log verify`: every batch of every log read from the medium and checked.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::{Disk, OpenMode, SystemDisk};
use crate::storage::directory::{
    PARTITION_METADATA, durable_points, is_data_dir, metadata_flaw, partition_of,
};
use crate::storage::inspect::findings::{Finding, Flaw, LogReport};
use crate::storage::inspect::indexes::IndexCheck;
use crate::storage::segments::{
    BadBatch, BatchScan, Expected, FileKind, Located, Medium, Scanned, SegmentFile,
};
use crate::storage::{EpochCache, Offsets, StorageError, Stored};
use crate::types::{LeaderEpoch, Offset};

/// Verifies the logs of a data directory, or the one log whose directory it is.
///
/// # Errors
/// When the disk refuses, a file is of a later release, or the directory is neither of the two.
pub fn verify(disk: &Arc<dyn Disk>, dir: &Path) -> Result<Vec<LogReport>, StorageError> {
    verify_watched(disk, dir, &mut |_| ControlFlow::Continue(()))
}

/// As `verify`, on the disk of the system. `watch` is told the bytes of each good batch, and may
/// end the check: the reports then cover what was read so far.
pub fn verify_system(
    dir: &Path,
    watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Vec<LogReport>, StorageError> {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk::default());
    verify_watched(&disk, dir, watch)
}

/// Bytes of the segments that `verify_system` would read.
pub fn segment_bytes_system(dir: &Path) -> Result<u64, StorageError> {
    let disk = SystemDisk::default();
    let mut bytes = 0;
    for log in logs_in(&disk, dir)? {
        for base in segment_bases(&disk, &log)? {
            let path = SegmentFile::path(&log, base, FileKind::Log);
            let size = disk.open(&path, OpenMode::Read).and_then(|file| file.len());
            bytes += size.map_err(|source| StorageError::io("read", &path, source))?;
        }
    }
    Ok(bytes)
}

fn verify_watched(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Vec<LogReport>, StorageError> {
    let logs = logs_in(&**disk, dir)?;
    let Some(parent) = logs.first().and_then(|log| log.parent()) else { return Ok(Vec::new()) };
    let durable = durable_points(&**disk, parent)?;
    let mut reports = Vec::with_capacity(logs.len());
    for log in &logs {
        let (report, is_ended) = verify_log(disk, log, durable.as_ref(), watch)?;
        reports.push(report);
        if is_ended.is_break() {
            break;
        }
    }
    Ok(reports)
}

/// The directories of logs that are to be verified.
fn logs_in(disk: &dyn Disk, dir: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let entries = disk.list(dir).map_err(|source| StorageError::io("list", dir, source))?;
    let is_log = entries.iter().any(|entry| {
        entry.name == PARTITION_METADATA
            || SegmentFile::parse(&entry.name).is_some_and(|file| file.kind == FileKind::Log)
    });
    if is_log {
        return Ok(vec![dir.to_owned()]);
    }
    let logs = entries.iter().filter(|entry| entry.is_dir && partition_of(&entry.name).is_some());
    let logs: Vec<_> = logs.map(|entry| dir.join(&entry.name)).collect();
    if !is_data_dir(disk, dir)? && logs.is_empty() {
        return Err(StorageError::Foreign {
            path: dir.to_owned(),
            expected: "streamlog".to_owned(),
            found: "others: it has no 'meta.properties' and no log".to_owned(),
        });
    }
    Ok(logs)
}

/// The first offsets of a log's segments, in order.
pub(super) fn segment_bases(disk: &dyn Disk, log: &Path) -> Result<Vec<Offset>, StorageError> {
    let entries = disk.list(log).map_err(|source| StorageError::io("list", log, source))?;
    let files = entries.iter().filter_map(|entry| SegmentFile::parse(&entry.name));
    let bases = files.filter(|file| file.kind == FileKind::Log).map(|file| file.base);
    let mut bases: Vec<_> = bases.collect();
    bases.sort_unstable();
    Ok(bases)
}

fn verify_log(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    durable: Option<&Offsets>,
    watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(LogReport, ControlFlow<()>), StorageError> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let partition = partition_of(&name);
    let durable = durable.zip(partition).map(|(points, partition)| {
        // What no checkpoint knows yet is younger than the last one.
        points.get(&partition).copied().unwrap_or(Offset::ZERO)
    });
    LogCheck::new(disk, dir, durable)?.run(watch)
}

/// The verification of one log.
struct LogCheck<'d> {
    disk: &'d dyn Disk,
    dir: PathBuf,
    /// Where torn writes may begin; `None` when that is not known.
    durable: Option<Offset>,
    epochs: Option<EpochCache>,
    /// What the epoch history said wrongly of the last batch, after what that is of.
    mistake: Option<(LeaderEpoch, Option<LeaderEpoch>)>,
    report: LogReport,
    expected: Expected,
}

impl<'d> LogCheck<'d> {
    fn new(
        disk: &'d Arc<dyn Disk>,
        dir: &Path,
        durable: Option<Offset>,
    ) -> Result<Self, StorageError> {
        let mut report = LogReport { dir: dir.to_owned(), ..LogReport::default() };
        let stored = EpochCache::load(Arc::clone(disk), dir)
            .map_err(|source| StorageError::read(dir, source))?;
        let epochs = match stored {
            Stored::Sound(epochs) => Some(epochs),
            Stored::Absent => None,
            Stored::Damaged(reason) => {
                let (path, flaw) = (EpochCache::path_in(dir), Flaw::File(reason));
                report.findings.push(Finding { path, position: 0, flaw });
                None
            }
        };
        let expected = Expected { offset: Offset::ZERO, epoch: LeaderEpoch::NONE, dense: false };
        Ok(Self {
            disk: &**disk,
            dir: dir.to_owned(),
            durable,
            epochs,
            mistake: None,
            report,
            expected,
        })
    }

    fn run(
        mut self,
        watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(LogReport, ControlFlow<()>), StorageError> {
        if let Some((path, reason)) = metadata_flaw(self.disk, &self.dir)? {
            self.report.findings.push(Finding { path, position: 0, flaw: Flaw::File(reason) });
        }
        let bases = segment_bases(self.disk, &self.dir)?;
        for (index, base) in bases.iter().enumerate() {
            if self.segment(*base, index + 1 == bases.len(), watch)?.is_break() {
                return Ok((self.report, ControlFlow::Break(())));
            }
        }
        Ok((self.report, ControlFlow::Continue(())))
    }

    fn segment(
        &mut self,
        base: Offset,
        is_last: bool,
        watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StorageError> {
        let path = SegmentFile::path(&self.dir, base, FileKind::Log);
        let refused = |source| StorageError::io("read", &path, source);
        // First, so that a broker at work has no entries for batches beyond the length seen.
        let mut indexes = IndexCheck::new(self.disk, &self.dir, base)?;
        let file = self.disk.open(&path, OpenMode::Read).map_err(refused)?;
        let mut scan = BatchScan::new(&*file, 0, file.len().map_err(refused)?, Medium::Disk);
        self.report.segments += 1;
        self.expected.offset = self.expected.offset.max(base);
        while let Some(scanned) = scan.next(&self.expected).map_err(refused)? {
            match scanned {
                Scanned::Good(batch) => {
                    self.good(&batch);
                    if watch(batch.summary.size as u64).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    indexes.pass(&batch, &mut self.report.findings);
                }
                Scanned::Bad(bad) => {
                    let position = scan.position();
                    let next = scan.find_good(&self.expected, None).map_err(refused)?;
                    let next = next.map(|batch| batch.position);
                    let flaw = self.flaw(bad, next, is_last);
                    self.report.findings.push(Finding { path: path.clone(), position, flaw });
                    let Some(next) = next else { return Ok(ControlFlow::Continue(())) };
                    scan.go_to(next);
                }
            }
        }
        indexes.finish(&mut self.report.findings);
        Ok(ControlFlow::Continue(()))
    }

    fn good(&mut self, batch: &Located) {
        let summary = &batch.summary;
        let report = &mut self.report;
        let is_gap = report.batches > 0 && summary.base_offset != report.next_offset;
        report.gaps += u64::from(is_gap && report.findings.is_empty());
        report.batches += 1;
        report.records += u64::from(summary.record_count);
        report.bytes += summary.size as u64;
        report.first_offset.get_or_insert(summary.base_offset);
        report.next_offset = summary.next_offset();
        self.expected.offset = summary.next_offset();
        self.check_epoch(batch);
        self.expected.epoch = summary.leader_epoch;
    }

    /// Looks a batch up in the epoch history; a mistake that goes on is found once.
    fn check_epoch(&mut self, batch: &Located) {
        let (offset, epoch) = (batch.summary.base_offset, batch.summary.leader_epoch);
        let Some(epochs) = &self.epochs else { return };
        let history = epochs.epoch_at(offset);
        let mistake = (history != Some(epoch)).then_some((epoch, history));
        if mistake.is_some() && mistake != self.mistake {
            let (path, flaw) =
                (EpochCache::path_in(&self.dir), Flaw::EpochHistory { offset, epoch, history });
            self.report.findings.push(Finding { path, position: 0, flaw });
        }
        self.mistake = mistake;
    }

    /// A write that was torn off is no damage: nobody was ever told that it is durable.
    fn flaw(&self, bad: BadBatch, good_again: Option<u64>, is_last: bool) -> Flaw {
        let was_durable = self.durable.is_none_or(|durable| self.expected.offset < durable);
        if is_last && good_again.is_none() && !was_durable {
            Flaw::TornTail(bad)
        } else {
            Flaw::Batch { bad, good_again }
        }
    }
}
