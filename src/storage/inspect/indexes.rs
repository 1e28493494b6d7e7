//! The check of a segment's indexes against its batches, which are passed in order.

use std::path::Path;

use crate::io::Disk;
use crate::storage::inspect::findings::{Finding, Flaw};
use crate::storage::segments::{Entry, FileKind, Located, OffsetEntry, SegmentFile, TimeEntry};
use crate::storage::{StorageError, small_file};
use crate::types::{Offset, Timestamp};

/// The indexes of a segment, with the progress of their check.
pub(super) struct IndexCheck {
    base: Offset,
    offsets: Unchecked<OffsetEntry>,
    times: Unchecked<TimeEntry>,
    max_timestamp: Timestamp,
    /// Entries for this offset and later ones were never recorded as durable.
    durable_below: Offset,
}

struct Unchecked<E> {
    path: std::path::PathBuf,
    entries: Vec<E>,
    checked: usize,
}

impl IndexCheck {
    /// The indexes of the segment that begins at `base`. An absent index has no entries, which is
    /// no fault.
    pub(super) fn new(
        disk: &dyn Disk,
        dir: &Path,
        base: Offset,
        durable_below: Offset,
    ) -> Result<Self, StorageError> {
        Ok(Self {
            base,
            durable_below,
            offsets: Unchecked::read(disk, SegmentFile::path(dir, base, FileKind::OffsetIndex))?,
            times: Unchecked::read(disk, SegmentFile::path(dir, base, FileKind::TimeIndex))?,
            max_timestamp: Timestamp::NONE,
        })
    }

    /// Checks the entries that this batch can confirm or refute.
    pub(super) fn pass(&mut self, batch: &Located, findings: &mut Vec<Finding>) {
        let last_offset = batch.summary.last_offset;
        let (base, durable_below) = (self.base, self.durable_below);
        let is_late = move |claimed: Option<Offset>| claimed >= Some(durable_below);
        self.offsets.check(findings, |entry| {
            let (claimed, flaw) = offset_claim(base, entry);
            let position = u64::try_from(entry.position).unwrap_or_default();
            let is_right = position == batch.position && claimed == Some(last_offset);
            (position <= batch.position).then_some((is_right || is_late(claimed), flaw))
        });
        if batch.summary.record_count > 0 {
            self.max_timestamp = self.max_timestamp.max(batch.summary.max_timestamp);
        }
        let max_timestamp = self.max_timestamp;
        self.times.check(findings, |entry| {
            let (claimed, flaw) = time_claim(base, entry);
            let is_right = claimed == Some(last_offset) && entry.timestamp == max_timestamp;
            (claimed <= Some(last_offset)).then_some((is_right || is_late(claimed), flaw))
        });
    }

    /// Reports the remaining entries, for which there was no batch. Do not call it if the segment
    /// ends in bad bytes, which may be the batches of these entries.
    pub(super) fn finish(&mut self, findings: &mut Vec<Finding>) {
        let (base, durable_below) = (self.base, self.durable_below);
        let is_late = move |claimed: Option<Offset>| claimed >= Some(durable_below);
        self.offsets.check(findings, |entry| {
            let (claimed, flaw) = offset_claim(base, entry);
            Some((is_late(claimed), flaw))
        });
        self.times.check(findings, |entry| {
            let (claimed, flaw) = time_claim(base, entry);
            Some((is_late(claimed), flaw))
        });
    }
}

/// The last offset of a batch according to an entry, and the flaw to report if it is wrong.
fn offset_claim(base: Offset, entry: OffsetEntry) -> (Option<Offset>, Flaw) {
    let last_offset = Offset::checked(base.get() + i64::from(entry.relative_offset));
    let flaw =
        Flaw::OffsetIndex { position: entry.position, last_offset: last_offset.unwrap_or(base) };
    (last_offset, flaw)
}

/// As `offset_claim`, for the time index.
fn time_claim(base: Offset, entry: TimeEntry) -> (Option<Offset>, Flaw) {
    let last_offset = Offset::checked(base.get() + i64::from(entry.relative_offset));
    let flaw =
        Flaw::TimeIndex { timestamp: entry.timestamp, last_offset: last_offset.unwrap_or(base) };
    (last_offset, flaw)
}

impl<E: Entry> Unchecked<E> {
    fn read(disk: &dyn Disk, path: std::path::PathBuf) -> Result<Self, StorageError> {
        let bytes = small_file::read(disk, &path)
            .map_err(|source| StorageError::io("read", &path, source))?
            .unwrap_or_default();
        let size = size_of::<E::Bytes>();
        let decode = |chunk: &[u8]| {
            let mut bytes = E::Bytes::default();
            bytes.as_mut().copy_from_slice(chunk);
            E::decode(&bytes)
        };
        Ok(Self { path, entries: bytes.chunks_exact(size).map(decode).collect(), checked: 0 })
    }

    /// Checks entries in order, until `judge` returns `None` because it cannot decide yet.
    fn check(&mut self, findings: &mut Vec<Finding>, judge: impl Fn(E) -> Option<(bool, Flaw)>) {
        while let Some(entry) = self.entries.get(self.checked).copied() {
            let Some((is_right, flaw)) = judge(entry) else { return };
            if !is_right {
                let position = (self.checked * size_of::<E::Bytes>()) as u64;
                findings.push(Finding { path: self.path.clone(), position, flaw });
            }
            self.checked += 1;
        }
    }
}
