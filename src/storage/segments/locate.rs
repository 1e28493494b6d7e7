//! Finding batches within a segment: by offset, by position, by timestamp.
//!
//! The index gives a position to start from. The batch there must match the index entry; otherwise,
//! or if the index is absent, both indexes are rebuilt from the batches. From that position, the
//! search walks over about an index interval; after a rebuild, over the whole segment.

use std::io::{self, ErrorKind};
use std::ops::Range;

use crate::storage::StorageError;
use crate::storage::segments::entry::{OffsetEntry, TimeEntry};
use crate::storage::segments::{
    BatchScan, BatchWalk, Damage, Expected, FileKind, Indexer, Located, Scanned, Segment, Source,
};
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// The limits of a read within a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// The maximum number of bytes.
    pub(crate) bytes_max: u64,
    /// The offset below which all batches must end.
    pub(crate) below: Offset,
    /// True if the first batch is returned whole, however large it is.
    pub(crate) at_least_one: bool,
    /// The segment's size, read before `segment_end`.
    pub(crate) segment_size: u64,
    /// The offset after the segment's last batch, read after `segment_size`.
    pub(crate) segment_end: Offset,
}

impl Segment {
    /// The first batch that ends at or after `offset`; `None` if there is none.
    ///
    /// # Errors
    /// `Corrupt` if the offset lies in a damaged stretch, or if bytes on the way to it are not a
    /// batch.
    pub(crate) fn locate(&self, offset: Offset) -> Result<Option<Located>, StorageError> {
        self.walk_to(offset).map(|(_, batch)| batch)
    }

    /// As `locate`, with the bytes that the walk has passed over: up to the batch, or to the end of
    /// the segment. If one of their headers is wrong, the wanted batch may be among them.
    pub(crate) fn walk_to(
        &self,
        offset: Offset,
    ) -> Result<(Range<u64>, Option<Located>), StorageError> {
        let (wanted, size) = (offset.since(self.base()), self.size()?);
        let mut walk = self.walk_from(size, |entry| i64::from(entry.relative_offset) <= wanted)?;
        let begin = walk.position();
        while let Some(batch) = self.step(&mut walk, |damage| damage.next > offset)? {
            if batch.summary.last_offset >= offset {
                return Ok((begin..batch.position, Some(batch)));
            }
        }
        Ok((begin..size, None))
    }

    /// The end position of the batches from `first` on that `span` allows.
    pub(crate) fn span_end(&self, first: &Located, span: &Span) -> Result<u64, StorageError> {
        if first.summary.last_offset >= span.below {
            return Ok(first.position);
        }
        let mut cap = first.position.saturating_add(span.bytes_max);
        if first.end() > cap {
            return Ok(if span.at_least_one { first.end() } else { first.position });
        }
        let sound_end = self.sound_end(first.position, span.segment_size);
        if span.below >= span.segment_end && cap >= sound_end {
            return Ok(sound_end);
        }
        cap = cap.min(sound_end);
        let below = span.below.since(self.base());
        let mut walk = self.walk_from(sound_end, |entry| {
            i64::from(entry.relative_offset) < below
                && u64::try_from(entry.position).is_ok_and(|position| position <= cap)
        })?;
        if walk.position() < first.end() {
            walk.go_to(first.end());
        }
        let mut end = walk.position();
        while end < cap
            && let Some(batch) = self.step(&mut walk, |_| true)?
            && batch.end() <= cap
            && batch.summary.last_offset < span.below
        {
            end = batch.end();
        }
        Ok(end)
    }

    /// The first batch with records at or after `from` whose largest timestamp is at least
    /// `timestamp`, and the position at which the walk to it began.
    ///
    /// # Errors
    /// `Corrupt` if damage on the way to it may have held the wanted record.
    pub(crate) fn first_at_or_after(
        &self,
        timestamp: Timestamp,
        from: Offset,
    ) -> Result<(u64, Option<Located>), StorageError> {
        let start = self.first_time_below(timestamp)?.max(from);
        let wanted = start.since(self.base());
        let mut walk =
            self.walk_from(self.size()?, |entry| i64::from(entry.relative_offset) <= wanted)?;
        let begin = walk.position();
        while let Some(batch) = self.step(&mut walk, |damage| damage.next > start)? {
            let reached = batch.summary.last_offset >= start && batch.summary.record_count > 0;
            if reached && batch.summary.max_timestamp >= timestamp {
                return Ok((begin, Some(batch)));
            }
        }
        Ok((begin, None))
    }

    /// An offset before which all records are older than `timestamp`, by the time index. If an
    /// entry does not match its batch, both indexes are rebuilt.
    fn first_time_below(&self, timestamp: Timestamp) -> Result<Offset, StorageError> {
        let find = || self.query_index(|| self.times.last_where(|e| e.timestamp < timestamp));
        let Some(entry) = find()? else { return Ok(self.base()) };
        if self.is_time_right(&entry)? {
            return Ok(self.offset_of(&entry));
        }
        self.note("of times does not match its batches");
        self.rebuild_indexes()?;
        Ok(find()?.map_or(self.base(), |entry| self.offset_of(&entry)))
    }

    /// Returns true if an entry of the time index matches its batch, or if the batch is damaged.
    fn is_time_right(&self, entry: &TimeEntry) -> Result<bool, StorageError> {
        let offset = self.offset_of(entry);
        match self.locate(offset) {
            Ok(batch) => Ok(batch.is_some_and(|batch| {
                let summary = &batch.summary;
                summary.last_offset == offset && summary.max_timestamp == entry.timestamp
            })),
            // A damaged batch cannot disprove the entry.
            Err(StorageError::Corrupt { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn offset_of(&self, entry: &TimeEntry) -> Offset {
        self.base().plus(entry.relative_offset.into())
    }

    /// Calls `see` with all batches that end at or after `offset`; damaged stretches are passed
    /// over.
    pub(crate) fn each_from(
        &self,
        offset: Offset,
        mut see: impl FnMut(&Located),
    ) -> Result<(), StorageError> {
        let wanted = offset.since(self.base());
        let mut walk =
            self.walk_from(self.size()?, |entry| i64::from(entry.relative_offset) <= wanted)?;
        while let Some(batch) = self.step(&mut walk, |_| false)? {
            if batch.summary.last_offset >= offset {
                see(&batch);
            }
        }
        Ok(())
    }

    /// The indexer after all batches below `size`, and the last of these batches.
    pub(crate) fn end_at(&self, size: u64) -> Result<(Indexer, Option<Located>), StorageError> {
        let interval = self.context.config.load().index_interval.0;
        let mut walk = self.walk_from(size, |_| true)?;
        let mut time = self.query_index(|| self.times.last())?;
        let is_right = |time: &TimeEntry| self.is_time_right(time);
        if walk.position() > 0 && !time.as_ref().map_or(Ok(false), is_right)? {
            // The largest timestamp so far comes from the time index, not from the batches that
            // follow.
            self.note("has no sound index of times beside it");
            self.rebuild_indexes()?;
            time = self.query_index(|| self.times.last())?;
        }
        let mut indexer = Indexer::resumed(self.base(), interval, time);
        let mut last = None;
        while let Some(batch) = self.step(&mut walk, |_| false)? {
            indexer.pass(&batch);
            last = Some(batch);
        }
        // The caller adds the entries that are due from here on; no rebuild may replace them.
        *self.lock_indexed() = true;
        Ok((indexer, last))
    }

    /// The last batch with an index entry that ends below `offset`, if its header matches the
    /// entry. A scan may begin at this batch.
    pub(crate) fn indexed_below(&self, offset: Offset) -> Result<Option<Located>, StorageError> {
        let below = offset.since(self.base());
        let is_below = |entry: &OffsetEntry| i64::from(entry.relative_offset) < below;
        let entry = self.query_index(|| self.offsets.last_where(is_below))?;
        let Some(entry) = entry else { return Ok(None) };
        let position = u64::try_from(entry.position).unwrap_or_default();
        let last_offset = self.base().plus(entry.relative_offset.into());
        let batch = BatchWalk::new(&**self.file(), position, self.size()?).next();
        Ok(batch.ok().flatten().filter(|batch| batch.summary.last_offset == last_offset))
    }

    /// The last batch with an index entry that begins at or before `position`, if its header
    /// matches the entry.
    pub(crate) fn indexed_at(&self, position: u64) -> Result<Option<Located>, StorageError> {
        let is_before = |entry: &OffsetEntry| {
            u64::try_from(entry.position).is_ok_and(|start| start <= position)
        };
        let entry = self.query_index(|| self.offsets.last_where(is_before))?;
        let Some(entry) = entry else { return Ok(None) };
        let start = u64::try_from(entry.position).unwrap_or_default();
        let last_offset = self.base().plus(entry.relative_offset.into());
        let batch = BatchWalk::new(&**self.file(), start, self.size()?).next();
        Ok(batch.ok().flatten().filter(|batch| batch.summary.last_offset == last_offset))
    }

    /// As `indexed_below`, for callers that continue the indexes from this batch on. `None` if an
    /// index is missing or a power failure has damaged it, since both must then be rebuilt from the
    /// first batch.
    pub(crate) fn resumable_below(&self, offset: Offset) -> Result<Option<Located>, StorageError> {
        if !self.query_index(|| Ok(self.times.is_in_order()? && self.offsets.is_in_order()?))? {
            self.note("is not in order");
            return Ok(None);
        }
        let Some(batch) = self.indexed_below(offset)? else { return Ok(None) };
        let last = batch.summary.last_offset.since(self.base());
        let is_before = |entry: &TimeEntry| i64::from(entry.relative_offset) <= last;
        let time = self.query_index(|| self.times.last_where(is_before))?;
        let is_right = time.map_or(Ok(false), |time| self.is_time_right(&time))?;
        Ok(is_right.then_some(batch))
    }

    /// Removes the index entries beyond `batch`, and returns the indexer that continues at this
    /// batch. Without a `batch`, removes all entries, and the indexer begins at the start of the
    /// segment.
    pub(crate) fn index_from(&self, batch: Option<&Located>) -> Result<Indexer, StorageError> {
        let interval = self.context.config.load().index_interval.0;
        // The caller adds the entries that are due from here on; no rebuild may replace them.
        *self.lock_indexed() = true;
        let Some(batch) = batch else {
            self.offsets.replace(Vec::new());
            self.times.replace(Vec::new());
            return Ok(Indexer::new(self.base(), interval));
        };
        let last = batch.summary.last_offset.since(self.base());
        self.offsets
            .keep_where(|entry| i64::from(entry.relative_offset) <= last)
            .and_then(|()| self.times.keep_where(|entry| i64::from(entry.relative_offset) <= last))
            .map_err(|error| self.refused("index", error))?;
        let time = self.query_index(|| self.times.last())?;
        Ok(Indexer::resumed(self.base(), interval, time))
    }

    /// A walk to `end` from the batch of the last index entry for which `holds` is true. It begins
    /// at the start of the segment if there is no such entry, or if the indexes had to be rebuilt.
    fn walk_from(
        &self,
        end: u64,
        holds: impl Fn(&OffsetEntry) -> bool,
    ) -> Result<BatchWalk<'_>, StorageError> {
        let file = &**self.file();
        let in_file = |entry: &OffsetEntry| {
            u64::try_from(entry.position).is_ok_and(|at| at < end) && holds(entry)
        };
        let find = || self.query_index(|| self.offsets.last_where(in_file));
        let mut entry = find()?;
        if entry.is_none() && self.rebuild_absent_indexes()? {
            entry = find()?;
        }
        let Some(entry) = entry else { return Ok(BatchWalk::new(file, 0, end)) };
        let position = u64::try_from(entry.position).unwrap_or_default();
        let mut walk = BatchWalk::new(file, position, end);
        if self.context.damages.at(self.base(), position).is_some() {
            return Ok(walk);
        }
        let last_offset = self.base().plus(entry.relative_offset.into());
        if let Ok(Some(batch)) = walk.next()
            && batch.summary.last_offset == last_offset
        {
            walk.go_to(position);
            return Ok(walk);
        }
        self.note("does not match its batches");
        self.rebuild_indexes()?;
        Ok(BatchWalk::new(file, 0, end))
    }

    /// Rebuilds the indexes if they lack all entries but should have some; returns true if they
    /// then have some.
    /// It checks only once, because a segment of few large batches rightly has none.
    fn rebuild_absent_indexes(&self) -> Result<bool, StorageError> {
        let interval = self.context.config.load().index_interval.0;
        let mut is_indexed = self.lock_indexed();
        if *is_indexed || self.size()? <= interval {
            return Ok(false);
        }
        let entries = || self.offsets.len().map_err(|error| self.refused("index", error));
        let were_absent = entries()? == 0;
        if were_absent {
            self.rebuild_indexes()?;
        }
        *is_indexed = true;
        let is_made = were_absent && entries()? > 0;
        if is_made {
            self.note("was absent");
        }
        Ok(is_made)
    }

    /// Queries an index. If its file was removed while it was closed, the indexes are rebuilt
    /// first.
    pub(super) fn query_index<T>(
        &self,
        ask: impl Fn() -> io::Result<T>,
    ) -> Result<T, StorageError> {
        let mut answer = ask();
        if let Err(error) = &answer
            && error.kind() == ErrorKind::NotFound
            && !self.is_deleted()
        {
            self.note("was removed");
            self.rebuild_indexes()?;
            answer = ask();
        }
        answer.map_err(|error| self.refused("index", error))
    }

    fn note(&self, what: &str) {
        let path = self.path(FileKind::OffsetIndex);
        tracing::warn!(path = %path.display(), "an index {what}; it is rebuilt");
    }

    /// Rebuilds both indexes in memory, from batches with valid checksums, up to the first new bad
    /// batch, so that at least the batches before it can be found. Only valid batches count: a
    /// wrong timestamp would hide records from later lookups.
    fn rebuild_indexes(&self) -> Result<(), StorageError> {
        let interval = self.context.config.load().index_interval.0;
        let mut indexer = Indexer::new(self.base(), interval);
        let (mut offsets, mut times) = (Vec::new(), Vec::new());
        let mut scan = BatchScan::new(Source::cached(&**self.file()), 0, self.size()?);
        let mut expected = Expected { offset: self.base(), epoch: LeaderEpoch::NONE, dense: false };
        loop {
            if let Some(damage) = self.context.damages.at(self.base(), scan.position()) {
                scan.go_to(damage.end);
            }
            let scanned = scan.next(&expected).map_err(|error| self.refused("read", error))?;
            let Some(Scanned::Good(batch)) = scanned else { break };
            expected.offset = batch.summary.next_offset();
            let due = indexer.pass(&batch);
            offsets.extend(due.offset);
            times.extend(due.time);
        }
        times.extend(indexer.time_entry());
        // Replace the times first: an offset entry added in between must not lose its time entry.
        self.times.replace(times);
        self.offsets.replace(offsets);
        Ok(())
    }

    /// The next batch of a walk. A damaged stretch for which `refuses` is true is an error, unless
    /// the operator has skipped it; others are passed over.
    fn step(
        &self,
        walk: &mut BatchWalk<'_>,
        refuses: impl Fn(&Damage) -> bool,
    ) -> Result<Option<Located>, StorageError> {
        let position = walk.position();
        if let Some(damage) = self.context.damages.at(self.base(), position) {
            if refuses(&damage) && !self.context.is_skipped(&damage) {
                return Err(self.context.damaged(&damage));
            }
            walk.go_to(damage.end);
        }
        walk.next().map_err(|error| match error.kind() {
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => self.not_a_batch(position),
            _ => self.refused("read", error),
        })
    }

    /// The error for bytes that are not a batch; the extent of the damage is not known.
    fn not_a_batch(&self, position: u64) -> StorageError {
        let path = self.path(FileKind::Log);
        self.context.corrupt(self.base()..self.base(), &path, position)
    }

    /// The start of the first damage after `position`; `size` if there is none.
    fn sound_end(&self, position: u64, size: u64) -> u64 {
        let damages = self.damages();
        let starts = damages.iter().map(|damage| damage.start);
        starts.filter(|start| *start > position).min().unwrap_or(size).min(size)
    }
}
