//! The scan of a log's batches from the medium, and the decision on bad ones.

use std::ops::Range;
use std::sync::Arc;

use crate::storage::recovery::replay::note_epoch;
use crate::storage::segments::{
    BadBatch, BatchCheck, BatchScan, Chain, CheckProgress, Checked, Damage, Expected, FileKind,
    Indexer, Located, LogContext, Scanned, Segment, Source,
};
use crate::storage::{EpochCache, StorageError, Stored};
use crate::types::{LeaderEpoch, Offset};

/// The offsets recorded for a log before the crash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) log_start: Offset,
    pub(crate) durable: Offset,
    pub(crate) rebuild: Offset,
    pub(crate) same_boot: bool,
}

/// The offsets at which a log may have gaps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Density {
    /// The recorded offset below which compaction may have left gaps.
    pub(super) gaps_below: Offset,
    /// The offset from which on batches must follow one another without a gap. It is higher than
    /// `gaps_below` if the record of compaction may be lost.
    pub(super) dense_from: Offset,
}

/// A scan of a log from some offset to its end.
pub(super) struct Scanner<'a> {
    context: &'a LogContext,
    segments: &'a [Arc<Segment>],
    durable: Offset,
    density: Density,
    same_boot: bool,
    expected: Expected,
    /// The history as stored, if its file is sound.
    stored: Option<EpochCache>,
    epochs: EpochCache,
    damages: Vec<Damage>,
    ends_in_damage: bool,
    first_scanned: usize,
    leftovers: Vec<(usize, u64)>,
}

/// The start of a torn tail.
#[derive(Debug)]
pub(super) struct Torn {
    /// The index of the segment.
    pub(super) segment: usize,
    /// The position in the segment.
    pub(super) position: u64,
    /// The offset after the last good record.
    pub(super) offset: Offset,
    /// The fault found at this position.
    pub(super) reason: String,
}

/// The end of the last segment: the scan has to find it.
const END_UNKNOWN: Offset = Offset::new(i64::MAX);

/// The result of a scan.
pub(super) struct Found {
    pub(super) log_end: Offset,
    pub(super) epochs: EpochCache,
    pub(super) damages: Vec<Damage>,
    pub(super) ends_in_damage: bool,
    pub(super) first_scanned: usize,
    /// Segments, by index, with bytes after their last batch, and the position where these begin.
    pub(super) leftovers: Vec<(usize, u64)>,
}

impl<'a> Scanner<'a> {
    /// A scan of a log in which everything below `known.durable` was durable.
    pub(super) fn new(
        context: &'a LogContext,
        segments: &'a [Arc<Segment>],
        known: &Known,
        density: Density,
        stored: Stored<EpochCache>,
    ) -> Self {
        let stored = match stored {
            Stored::Sound(epochs) => Some(epochs),
            Stored::Absent | Stored::Damaged(_) => None,
        };
        Self {
            context,
            segments,
            durable: known.durable,
            density,
            same_boot: known.same_boot,
            expected: Expected { offset: Offset::ZERO, epoch: LeaderEpoch::NONE, dense: false },
            stored,
            epochs: EpochCache::new(Arc::clone(&context.disk), &context.dir),
            damages: Vec::new(),
            ends_in_damage: false,
            first_scanned: 0,
            leftovers: Vec::new(),
        }
    }

    /// Reads everything from `from` on, beginning at a batch shortly before it; returns the start
    /// of a torn tail, if there is one.
    pub(super) fn scan(&mut self, from: Offset) -> Result<Option<Torn>, StorageError> {
        // Include the segment that ends at `from`: a truncation at its end may have been lost.
        let after = self.segments.partition_point(|segment| segment.base() < from);
        let first = after.saturating_sub(1);
        self.first_scanned = first;
        let start = self.segments[first].resumable_below(from)?;
        self.begin_at(first, start.as_ref());
        for number in first..self.segments.len() {
            let start = start.as_ref().filter(|_| number == first);
            let torn = match self.check_base(number)? {
                None => self.scan_segment(number, start)?,
                torn => torn,
            };
            if torn.is_some() {
                return Ok(torn);
            }
        }
        self.check_end()?;
        Ok(None)
    }

    /// Ends the scan and returns its result.
    pub(super) fn finish(self) -> Found {
        let log_end = self.expected.offset;
        let mut epochs = self.epochs;
        // An epoch that started at the very end has no batch yet; keep it as stored.
        let announced = self.stored.iter().flat_map(EpochCache::entries);
        for entry in announced.filter(|entry| entry.start == log_end) {
            if epochs.may_follow(entry.epoch, log_end) {
                epochs.note(entry.epoch, log_end);
            }
        }
        Found {
            log_end,
            epochs,
            damages: self.damages,
            ends_in_damage: self.ends_in_damage,
            first_scanned: self.first_scanned,
            leftovers: self.leftovers,
        }
    }

    /// Takes over the known state of the log before the first batch to read.
    fn begin_at(&mut self, first: usize, start: Option<&Located>) {
        let segment = &self.segments[first];
        let offset = start.map_or(segment.base(), |batch| batch.summary.base_offset);
        let position = start.map_or(0, |batch| batch.position);
        for entry in self.stored.iter().flat_map(EpochCache::entries) {
            if entry.start < offset {
                self.epochs.note(entry.epoch, entry.start);
            }
        }
        let epoch = self.epochs.latest().unwrap_or(LeaderEpoch::NONE);
        self.expect(offset, epoch);
        let known = self.segments.iter().flat_map(|segment| segment.damages());
        let before = known.filter(|damage| {
            damage.segment < segment.base()
                || (damage.segment == segment.base() && damage.start < position)
        });
        self.damages = before.collect();
    }

    /// Checks that a segment begins where the preceding one ends.
    fn check_base(&mut self, number: usize) -> Result<Option<Torn>, StorageError> {
        let (segment, expected) = (Arc::clone(&self.segments[number]), self.expected.offset);
        if number == self.first_scanned || segment.base() == expected {
            return Ok(None);
        }
        if segment.base() < expected {
            let path = segment.path(FileKind::Log);
            return Err(self.context.corrupt(segment.base()..expected, &path, 0));
        }
        // Compaction leaves at least the last batch of a segment, and damaged segments as they are.
        let before = &self.segments[number - 1];
        let is_known = before.damages().iter().any(|damage| {
            damage.start == damage.end && damage.first == expected && damage.next == segment.base()
        });
        if expected < self.density.gaps_below && before.size()? > 0 && !is_known {
            self.expect(segment.base(), self.expected.epoch);
            return Ok(None);
        }
        let reason = format!("the segment begins at offset {}", segment.base());
        if expected >= self.durable && !(self.same_boot && self.has_good(number)?) {
            return Ok(Some(Torn { segment: number, position: 0, offset: expected, reason }));
        }
        let end = self.segments[number - 1].size()?;
        self.damaged(number - 1, end..end, segment.base(), &reason);
        Ok(None)
    }

    fn scan_segment(
        &mut self,
        number: usize,
        start: Option<&Located>,
    ) -> Result<Option<Torn>, StorageError> {
        let segment = Arc::clone(&self.segments[number]);
        let mut indexer = segment.index_from(start)?;
        let chain = self.chain_of(number)?;
        let position = start.map_or(0, |batch| batch.position);
        let mut progress = CheckProgress::at(position, self.expected);
        let source = Source::on_disk(&**segment.file());
        // Known damage is checked again: the bytes may have been restored from a backup.
        let mut check = BatchCheck::new(source, segment.base(), &chain, Vec::new(), &mut progress);
        loop {
            let stretch = check.stretch().map_err(|error| segment.refused("read", error))?;
            let Some(stretch) = stretch else { return Ok(None) };
            for checked in stretch {
                match checked {
                    Checked::Good(batch) => self.pass(&segment, &mut indexer, &batch),
                    Checked::Known => {}
                    Checked::Bad(damage, _) if self.is_over(number)? => {
                        // These bytes were left by an append that failed before the next segment
                        // began.
                        self.leftovers.push((number, damage.start));
                        return Ok(None);
                    }
                    Checked::Bad(damage, bad) => {
                        if let Some(torn) = self.judge(number, &damage, &bad)? {
                            return Ok(Some(torn));
                        }
                    }
                }
            }
        }
    }

    /// The facts that the headers of a segment must agree with. An epoch is durable in the history
    /// before its first batch is written.
    fn chain_of(&self, number: usize) -> Result<Chain, StorageError> {
        let segment = &self.segments[number];
        let next_base = self.segments.get(number + 1).map(|next| next.base());
        let size = segment.size()?;
        let digests = segment.digests()?;
        segment.release_digests();
        // The last segment may have lost bytes that were never durable.
        let digests = match next_base {
            Some(_) => digests,
            None => digests.iter().filter(|digest| digest.end <= size).copied().collect(),
        };
        Ok(Chain {
            dense_from: self.density.dense_from,
            end: next_base.unwrap_or(END_UNKNOWN),
            size,
            // If no digest shows lost bytes, the base of the next segment shows whether batches are
            // missing.
            is_whole: next_base.is_some() && digests.last().is_some_and(|d| d.end > size),
            epochs: self.stored.iter().flat_map(EpochCache::entries).copied().collect(),
            digests,
        })
    }

    /// Returns true if the next segment begins at the expected offset, so that this one ends here.
    /// If later records were durable, the next segment counts only if it or a later one has a good
    /// batch.
    fn is_over(&self, number: usize) -> Result<bool, StorageError> {
        let Some(next) = self.segments.get(number + 1) else { return Ok(false) };
        if next.base() != self.expected.offset {
            return Ok(false);
        }
        Ok(self.expected.offset >= self.durable || self.has_good(number + 1)?)
    }

    fn pass(&mut self, segment: &Segment, indexer: &mut Indexer, batch: &Located) {
        segment.push_entries(indexer.pass(batch));
        self.note_epoch(batch);
        self.expect(batch.summary.next_offset(), batch.summary.leader_epoch);
    }

    fn expect(&mut self, offset: Offset, epoch: LeaderEpoch) {
        self.expected = Expected { offset, epoch, dense: offset >= self.density.dense_from };
    }

    /// Adds a batch to the history. Epochs that began in a gap before it have no batch any more;
    /// they are taken over as stored.
    fn note_epoch(&mut self, batch: &Located) {
        let gap = self.expected.offset..batch.summary.base_offset;
        self.take_over_epochs(&gap, Some(batch.summary.leader_epoch));
        note_epoch(&mut self.epochs, &batch.summary);
    }

    /// Takes over the epochs as stored that began at offsets without a good batch; those after
    /// `latest` are left out.
    fn take_over_epochs(&mut self, offsets: &Range<Offset>, latest: Option<LeaderEpoch>) {
        let stored = self.stored.iter().flat_map(EpochCache::entries);
        for entry in stored.filter(|entry| offsets.contains(&entry.start)) {
            let is_earlier = latest.is_none_or(|latest| entry.epoch <= latest);
            if is_earlier && self.epochs.may_follow(entry.epoch, entry.start) {
                self.epochs.note(entry.epoch, entry.start);
            }
        }
    }

    /// Decides on bytes that are not a good batch: a torn tail, or damage after which the scan
    /// continues.
    fn judge(
        &mut self,
        number: usize,
        damage: &Damage,
        bad: &BadBatch,
    ) -> Result<Option<Torn>, StorageError> {
        let offset = damage.first;
        let torn =
            Torn { segment: number, position: damage.start, offset, reason: bad.to_string() };
        let was_durable = offset < self.durable;
        let is_last = damage.end >= self.segments[number].size()?;
        // A power failure may lose any unsynced bytes and keep later ones, so all that follows is
        // torn. If only the process ended, no written byte is lost: a bad batch before a good one
        // is damage.
        if !was_durable && (!self.same_boot || is_last && !self.has_good(number + 1)?) {
            return Ok(Some(torn));
        }
        let next_base = self.segments.get(number + 1).map(|next| next.base());
        let next = match next_base {
            None if is_last => self.durable.max(offset),
            _ => damage.next,
        };
        self.ends_in_damage = is_last && next_base.is_none();
        self.damaged(number, damage.bytes(), next, &torn.reason);
        Ok(None)
    }

    /// Returns true if there is a good batch in this segment or a later one.
    fn has_good(&self, number: usize) -> Result<bool, StorageError> {
        for segment in self.segments.iter().skip(number) {
            let end = segment.size()?;
            let mut scan = BatchScan::new(Source::on_disk(&**segment.file()), 0, end);
            let expected = Expected { offset: segment.base(), ..self.expected };
            let has_good = match scan.next(&expected) {
                Ok(Some(Scanned::Good(_))) => Ok(true),
                Ok(None) => Ok(false),
                Ok(Some(Scanned::Bad(_))) => {
                    scan.find_good(&expected, None).map(|found| found.is_some())
                }
                Err(error) => Err(error),
            };
            if has_good.map_err(|error| segment.refused("read", error))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Records damage if the log ends before its durable point.
    fn check_end(&mut self) -> Result<(), StorageError> {
        let number = self.segments.len() - 1;
        if self.expected.offset < self.durable {
            let end = self.segments[number].size()?;
            self.damaged(number, end..end, self.durable, "the segment ends here");
            self.ends_in_damage = true;
        }
        Ok(())
    }

    /// Records damage from the expected offset to `next`, where the scan continues.
    fn damaged(&mut self, number: usize, bytes: Range<u64>, next: Offset, reason: &str) {
        let Range { start, end } = bytes;
        let segment = &self.segments[number];
        let first = self.expected.offset;
        let path = segment.path(FileKind::Log);
        tracing::error!(
            path = %path.display(), start, end, %first, %next, reason,
            "damage: these offsets are kept but not served"
        );
        self.damages.push(Damage { segment: segment.base(), start, end, first, next });
        // A follower compares its epochs with those of lost records too.
        self.take_over_epochs(&(first..next), None);
        self.expect(next, self.expected.epoch);
    }
}
