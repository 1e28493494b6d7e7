//! `streamlog log verify`: every batch of every log read from the medium and checked.

use std::io;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::{Disk, OpenMode, SystemDisk};
use crate::storage::compacted::Compacted;
use crate::storage::directory::{
    PARTITION_METADATA, PartitionMetadata, gone_logs, is_data_dir, metadata_flaw, partition_of,
    start_points,
};
use crate::storage::inspect::findings::{Finding, Flaw, LogReport};
use crate::storage::inspect::indexes::IndexCheck;
use crate::storage::inspect::small_files::check_log_files;
use crate::storage::recovery::removed_below;
use crate::storage::segments::{
    BadBatch, BatchCheck, BatchScan, Chain, CheckProgress, Checked, Damage, Expected, FileKind,
    Located, Passed, Seal, SegmentFile, Source,
};
use crate::storage::{EpochCache, StartPoint, StorageError, Stored};
use crate::types::{LeaderEpoch, Offset};

/// Verifies the logs of a data directory, or the log in a log's directory.
///
/// # Errors
/// If the disk fails, a file is of a later release, or the directory is neither of the two.
#[cfg(any(test, feature = "internals"))]
pub fn verify(disk: &Arc<dyn Disk>, dir: &Path) -> Result<Vec<LogReport>, StorageError> {
    verify_watched(disk, dir, &mut |_| ControlFlow::Continue(()))
}

/// As `verify`, on the system's disk. `watch` is called with the size of each good batch, and may
/// end the check: the reports then cover the part that was read.
pub fn verify_system(
    dir: &Path,
    watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Vec<LogReport>, StorageError> {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk::default());
    verify_watched(&disk, dir, watch)
}

/// The number of bytes of the segments that `verify_system` would read.
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
    let mut reports = gone_reports(&**disk, dir, &logs)?;
    let Some(parent) = logs.first().and_then(|log| log.parent()) else { return Ok(reports) };
    let start_points = start_points(&**disk, parent)?;
    for log in &logs {
        let name = log.file_name().unwrap_or_default().to_string_lossy();
        let start = match (&start_points, partition_of(&name)) {
            (Some(start_points), Some(partition)) => {
                let owner = match PartitionMetadata::read(&**disk, log)? {
                    Stored::Sound(metadata) => Ok(metadata),
                    Stored::Absent => Err("it is missing".to_owned()),
                    Stored::Damaged(reason) => Err(reason),
                };
                Some(start_points(&partition, &owner))
            }
            _ => None,
        };
        let (report, is_ended) = LogCheck::new(disk, log, start)?.run(watch)?;
        reports.push(report);
        if is_ended.is_break() {
            break;
        }
    }
    Ok(reports)
}

/// The reports of the logs that a data directory lacks. `logs` are those that it has.
fn gone_reports(
    disk: &dyn Disk,
    dir: &Path,
    logs: &[PathBuf],
) -> Result<Vec<LogReport>, StorageError> {
    if logs.first().is_some_and(|log| log == dir) {
        return Ok(Vec::new());
    }
    let report = |(path, bounds): (PathBuf, Range<Offset>)| {
        let flaw = Flaw::Missing { first: bounds.start, next: bounds.end };
        let finding = Finding { path: path.clone(), position: 0, flaw };
        LogReport { dir: path, findings: vec![finding], ..LogReport::default() }
    };
    Ok(gone_logs(disk, dir)?.into_iter().map(report).collect())
}

/// The directories of the logs to verify.
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

/// The base offsets of a log's segments, in order.
pub(super) fn segment_bases(disk: &dyn Disk, log: &Path) -> Result<Vec<Offset>, StorageError> {
    let entries = disk.list(log).map_err(|source| StorageError::io("list", log, source))?;
    let files = entries.iter().filter_map(|entry| SegmentFile::parse(&entry.name));
    let bases = files.filter(|file| file.kind == FileKind::Log).map(|file| file.base);
    let mut bases: Vec<_> = bases.collect();
    bases.sort_unstable();
    Ok(bases)
}

/// The complete replacements in a log's directory.
fn replacements(disk: &dyn Disk, log: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let entries = disk.list(log).map_err(|source| StorageError::io("list", log, source))?;
    let is_swap = |name: &str| SegmentFile::parse(name).is_some_and(|f| f.kind == FileKind::Swap);
    Ok(entries.iter().filter(|e| is_swap(&e.name)).map(|e| log.join(&e.name)).collect())
}

/// Returns true if a complete replacement in a log's directory begins below an offset.
fn has_replacement_below(disk: &dyn Disk, log: &Path, offset: Offset) -> io::Result<bool> {
    let entries = disk.list(log)?;
    let mut files = entries.iter().filter_map(|entry| SegmentFile::parse(&entry.name));
    Ok(files.any(|file| file.kind == FileKind::Swap && file.base < offset))
}

/// The verification of a log.
struct LogCheck<'d> {
    disk: &'d dyn Disk,
    dir: PathBuf,
    /// The log's state according to the data directory; `None` if it is not known.
    start: Option<StartPoint>,
    /// The offset below which compaction may have removed records.
    gaps_below: Offset,
    /// True if bad bytes precede the next batch, and so explain a gap.
    is_after_bad: bool,
    epochs: Option<EpochCache>,
    /// The last disagreement with the epoch history: the batch's epoch, and the history's.
    mistake: Option<(LeaderEpoch, Option<LeaderEpoch>)>,
    report: LogReport,
    expected: Expected,
}

impl<'d> LogCheck<'d> {
    fn new(
        disk: &'d Arc<dyn Disk>,
        dir: &Path,
        start: Option<StartPoint>,
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
        let compacted =
            Compacted::load(&**disk, dir).map_err(|source| StorageError::read(dir, source))?;
        let expected = Expected { offset: Offset::ZERO, epoch: LeaderEpoch::NONE, dense: false };
        Ok(Self {
            disk: &**disk,
            dir: dir.to_owned(),
            start,
            gaps_below: compacted.gaps_below,
            is_after_bad: false,
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
        let (log_start, durable) =
            (self.log_start(), self.durable().unwrap_or(Offset::new(i64::MAX)));
        check_log_files(self.disk, &self.dir, log_start..durable, &mut self.report.findings)?;
        self.replacements()?;
        let bases = segment_bases(self.disk, &self.dir)?;
        self.expected.offset = self.first_expected(log_start, bases.first().copied())?;
        for (index, base) in bases.iter().enumerate() {
            let next_base = bases.get(index + 1).copied();
            if self.segment(*base, next_base, watch)?.is_break() {
                return Ok((self.report, ControlFlow::Break(())));
            }
        }
        if let Some(durable) = self.durable().filter(|durable| *durable > self.expected.offset) {
            self.miss(self.expected.offset, durable, bases.last().copied());
        }
        Ok((self.report, ControlFlow::Continue(())))
    }

    /// The offset at which the batches must begin, given the recorded log start: retention may have
    /// removed more before a crash.
    fn first_expected(
        &self,
        log_start: Offset,
        first: Option<Offset>,
    ) -> Result<Offset, StorageError> {
        let Some(first) = first.filter(|first| *first > log_start) else {
            return Ok(first.unwrap_or(log_start));
        };
        let refused = |source| StorageError::io("list", &self.dir, source);
        if matches!(self.start, Some(StartPoint::Clean { .. })) {
            return Ok(log_start);
        }
        // After a crash, a complete replacement takes the place of the first segments.
        if has_replacement_below(self.disk, &self.dir, first).map_err(refused)? {
            return Ok(first);
        }
        let epochs = self.epochs.as_ref().map_or(&[][..], EpochCache::entries);
        removed_below(self.disk, &self.dir, log_start, epochs, first)
            .map(|start| start.min(first))
            .map_err(refused)
    }

    /// Checks the batches of complete replacements, which the next start puts in place of segments.
    fn replacements(&mut self) -> Result<(), StorageError> {
        for path in replacements(self.disk, &self.dir)? {
            let refused = |source| StorageError::io("read", &path, source);
            let file = self.disk.open(&path, OpenMode::Read).map_err(refused)?;
            let mut scan = BatchScan::new(Source::on_disk(&*file), 0, file.len().map_err(refused)?);
            let mut expected =
                Expected { offset: Offset::ZERO, epoch: LeaderEpoch::NONE, dense: false };
            while let Some(passed) = scan.pass(&expected).map_err(refused)? {
                match passed {
                    Passed::Good(batch) => expected.offset = batch.summary.next_offset(),
                    Passed::Bad { position, bad, good_again } => {
                        let flaw = Flaw::Batch { bad, good_again };
                        self.report.findings.push(Finding { path: path.clone(), position, flaw });
                    }
                }
            }
        }
        Ok(())
    }

    fn segment(
        &mut self,
        base: Offset,
        next_base: Option<Offset>,
        watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StorageError> {
        let path = SegmentFile::path(&self.dir, base, FileKind::Log);
        let refused = |source| StorageError::io("read", &path, source);
        // Read the indexes before the size of the file: a running broker adds the batch first, so
        // every entry then refers to a batch within that size.
        let durable_below = match self.start {
            Some(StartPoint::Unclean { rebuild, .. }) => rebuild,
            _ => Offset::new(i64::MAX),
        };
        let mut indexes = IndexCheck::new(self.disk, &self.dir, base, durable_below)?;
        let file = self.disk.open(&path, OpenMode::Read).map_err(refused)?;
        self.report.segments += 1;
        self.continue_at(base);
        let chain = self.chain_of(base, next_base, file.len().map_err(refused)?)?;
        let mut progress =
            CheckProgress::at(0, chain.expected(self.expected.offset, self.expected.epoch));
        let source = Source::on_disk(&*file);
        let mut check = BatchCheck::new(source, base, &chain, Vec::new(), &mut progress);
        let mut ends_in_bad = false;
        while let Some(stretch) = check.stretch().map_err(refused)? {
            for checked in stretch {
                match checked {
                    Checked::Good(batch) => {
                        self.skip_to(batch.summary.base_offset, base);
                        self.good(&batch);
                        if watch(batch.summary.size as u64).is_break() {
                            return Ok(ControlFlow::Break(()));
                        }
                        indexes.pass(&batch, &mut self.report.findings);
                    }
                    Checked::Known => {}
                    Checked::Bad(damage, bad) => {
                        ends_in_bad = damage.end >= chain.size;
                        let flaw = self.flaw(bad, &damage, &chain, next_base);
                        let (path, position) = (path.clone(), damage.start);
                        self.report.findings.push(Finding { path, position, flaw });
                        self.is_after_bad = true;
                    }
                }
            }
        }
        if !ends_in_bad {
            indexes.finish(&mut self.report.findings);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The facts that the headers of a segment must agree with.
    fn chain_of(
        &self,
        base: Offset,
        next_base: Option<Offset>,
        size: u64,
    ) -> Result<Chain, StorageError> {
        let path = SegmentFile::path(&self.dir, base, FileKind::Seal);
        let mut digests = Seal::load_digests(self.disk, &path)
            .map_err(|source| StorageError::read(&path, source))?;
        if next_base.is_none() {
            // The last segment may have lost bytes that were never durable.
            digests.retain(|digest| digest.end <= size);
        }
        Ok(Chain {
            dense_from: self.gaps_below,
            end: next_base.unwrap_or(Offset::new(i64::MAX)),
            size,
            is_whole: digests.last().is_some_and(|digest| digest.end > size),
            epochs: self.epochs.iter().flat_map(EpochCache::entries).copied().collect(),
            digests: digests.into(),
        })
    }

    fn good(&mut self, batch: &Located) {
        let summary = &batch.summary;
        let report = &mut self.report;
        let is_gap = report.batches > 0 && summary.base_offset != report.next_offset;
        report.gaps += u64::from(is_gap && !self.is_after_bad);
        report.batches += 1;
        report.records += u64::from(summary.record_count);
        report.bytes += summary.size as u64;
        report.first_offset.get_or_insert(summary.base_offset);
        report.next_offset = summary.next_offset();
        self.expected.offset = summary.next_offset();
        self.is_after_bad = false;
        self.expected.epoch = summary.leader_epoch;
        self.check_epoch(batch);
    }

    /// Compares a batch with the epoch history; a repeated disagreement is reported once.
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

    /// Continues at the segment that begins at `base`. Compaction never removes the beginning of a
    /// log.
    fn continue_at(&mut self, base: Offset) {
        let (expected, is_known) = (self.expected.offset, self.start.is_some());
        let is_durable = self.durable().is_none_or(|durable| expected < durable);
        if is_known && is_durable && self.report.batches == 0 && expected < base {
            self.miss(expected, base, Some(base));
            self.expected.offset = base;
        } else {
            self.skip_to(base, base);
        }
    }

    /// Continues at an offset of a segment. Reports the offsets in between as missing, unless bad
    /// bytes, compaction or the end of the durable part explains their absence.
    fn skip_to(&mut self, offset: Offset, segment: Offset) {
        let expected = self.expected.offset;
        if offset <= expected {
            return;
        }
        let is_known = self.start.is_some() || self.report.batches > 0;
        let is_durable = self.durable().is_none_or(|durable| expected < durable);
        if is_known && is_durable && !self.is_after_bad && offset > self.gaps_below {
            self.miss(expected.max(self.gaps_below), offset, Some(segment));
        }
        self.expected.offset = offset;
    }

    fn miss(&mut self, first: Offset, next: Offset, segment: Option<Offset>) {
        if self.is_after_bad {
            return;
        }
        let path = |base| SegmentFile::path(&self.dir, base, FileKind::Log);
        let path = segment.map_or_else(|| self.dir.clone(), path);
        let flaw = Flaw::Missing { first, next };
        self.report.findings.push(Finding { path, position: 0, flaw });
    }

    fn log_start(&self) -> Offset {
        match self.start {
            Some(StartPoint::Clean { log_start, .. } | StartPoint::Unclean { log_start, .. }) => {
                log_start
            }
            Some(StartPoint::New) | None => Offset::ZERO,
        }
    }

    /// The offset from which on torn writes are possible; `None` if it is not known.
    fn durable(&self) -> Option<Offset> {
        match self.start? {
            StartPoint::Clean { log_end, .. } => Some(log_end),
            StartPoint::Unclean { durable, .. } => Some(durable),
            StartPoint::New => None,
        }
    }

    /// Classifies bad bytes as recovery does. A torn write is not damage, because it was never
    /// reported as durable.
    fn flaw(
        &self,
        bad: BadBatch,
        damage: &Damage,
        chain: &Chain,
        next_base: Option<Offset>,
    ) -> Flaw {
        let Damage { start, end, first, next, .. } = *damage;
        if start == end {
            return Flaw::Missing { first, next };
        }
        let good_again = (end < chain.size).then_some(end);
        let was_durable = self.durable().is_none_or(|durable| first < durable);
        let power_failed = matches!(self.start, Some(StartPoint::Unclean { same_boot: false, .. }));
        let ends_log = next_base.is_none() && good_again.is_none();
        // The next segment begins at this offset, so an append had failed at the end of this one.
        let is_left_over = next_base == Some(first);
        if is_left_over || !was_durable && (power_failed || ends_log) {
            Flaw::TornTail(bad)
        } else {
            Flaw::Batch { bad, good_again }
        }
    }
}
