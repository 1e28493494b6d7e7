//! Reads by offset: the location of the records in a file.

use std::ops::Range;
use std::sync::Arc;

use crate::io::FileRange;
use crate::storage::StorageError;
use crate::storage::log::reading::checking::Checks;
use crate::storage::log::reading::extent::{Extent, ReadLimit};
use crate::storage::log::reading::search::{Found, Search, Searches};
use crate::storage::log::tail_lock::TailLock;
use crate::storage::segments::{FileKind, Segment};
use crate::types::Offset;

/// A read fails once it has needed more checks of a segment than this.
pub(super) const CHECKS_MAX: usize = 3;

/// The reads of a log by offset.
#[derive(Clone, Copy, Debug)]
pub struct Reads<'log> {
    checks: Checks<'log>,
    tail: &'log TailLock,
}

impl<'log> Reads<'log> {
    /// The reads of the log with this tail, which verify by `checks` the batches that they return.
    pub(in crate::storage::log) fn new(checks: Checks<'log>, tail: &'log TailLock) -> Self {
        Self { checks, tail }
    }

    /// The batches from the one that contains `from`, or the first one after it; all from one
    /// segment. `None` if there are none within the limit.
    ///
    /// Bytes that are not verified are read and checked first, which blocks on the disk.
    ///
    /// # Errors
    /// `OffsetOutOfRange` below the log start and beyond the log end; `Corrupt` if the wanted
    /// batches are damaged.
    pub fn read(self, from: Offset, limit: ReadLimit) -> Result<Option<FileRange>, StorageError> {
        let mut checks = 0;
        loop {
            match self.searches().search(from, limit) {
                Ok(search) => {
                    if self.verify(&search)? {
                        return Ok(search.into_extent().map(Extent::into_range));
                    }
                    checks += 1;
                    if checks > CHECKS_MAX {
                        return Err(self.unlocated(from));
                    }
                }
                // The bytes are not a batch and no damage is known: check the segment to find the
                // bounds of the damage.
                Err(StorageError::Corrupt { first, next, .. })
                    if first == next && checks < CHECKS_MAX =>
                {
                    checks += 1;
                    self.checks.check_whole_segment(first)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Verifies the bytes on which the outcome of a search depends. Returns false if the search has
    /// to be repeated: damage was found, or a segment was replaced.
    fn verify(self, search: &Search) -> Result<bool, StorageError> {
        for passed in search.unverified() {
            if !self.check(&passed.segment, passed.bytes.clone())? {
                return Ok(false);
            }
        }
        match &search.found {
            Found::Batches(extent) if !extent.is_verified() => {
                self.check(extent.segment(), extent.bytes())
            }
            Found::Batches(_) | Found::NoRoom | Found::Nothing => Ok(true),
        }
    }

    fn check(self, segment: &Arc<Segment>, bytes: Range<u64>) -> Result<bool, StorageError> {
        match self.checks.check_range(segment, bytes) {
            // The segment was removed or replaced since it was searched.
            Err(StorageError::Io { .. }) if !self.lists(segment) => Ok(false),
            checked => checked,
        }
    }

    /// As [`Reads::read`], but without a check: the caller must not send bytes of an extent that is
    /// not verified. `Corrupt` with an empty offset range means that bytes on the way to it are not
    /// a batch, or not verified; [`Reads::read`] checks them.
    ///
    /// # Errors
    /// As [`Reads::read`].
    pub fn find_extent(
        self,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Option<Extent>, StorageError> {
        self.searches().search(from, limit).and_then(|search| self.decided(search))
    }

    /// The batch whose offsets include `offset`, even if `offset` is beyond its records, as happens
    /// if offsets count bytes; its header states where its offsets end. If there is none, the next
    /// batch. `None` if there is none within the limit.
    ///
    /// # Errors
    /// Those of the disk, and `Corrupt` if the log is known to be damaged there.
    pub fn batch_of(
        self,
        offset: Offset,
        limit: ReadLimit,
    ) -> Result<Option<Extent>, StorageError> {
        self.searches().batch_of(offset, limit).and_then(|search| self.decided(search))
    }

    /// The sound batches from `from` on, or after the damage that begins at `from`, with the base
    /// offset of the first batch; all from one segment. Every batch is read and checked. For
    /// readers that got `Corrupt` from [`Reads::read`]. `None` if there are none within the limit.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn salvage(
        self,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Option<(Offset, FileRange)>, StorageError> {
        let segments = self.tail.segments();
        let below = limit.below.min(self.tail.view().log_end());
        let segments = segments.iter().skip(segments.number_of(from));
        for segment in segments.take_while(|segment| segment.base() < below) {
            let truncations = segment.truncations();
            let Some(run) = segment.sound_run(from, below, limit.max_bytes)? else { continue };
            let range = segment.range(run.start..run.end, truncations);
            return Ok(Some((run.base_offset, range)));
        }
        Ok(None)
    }

    fn searches(self) -> Searches<'log> {
        Searches::new(self.tail)
    }

    /// The batches of a search, if all bytes are verified on which the choice of these batches
    /// depends.
    fn decided(self, search: Search) -> Result<Option<Extent>, StorageError> {
        if let Some(passed) = search.unverified().next() {
            let (base, path) = (passed.segment.base(), passed.segment.path(FileKind::Log));
            return Err(self.tail.context().corrupt(base..base, &path, passed.bytes.start));
        }
        Ok(search.into_extent())
    }

    fn lists(self, segment: &Arc<Segment>) -> bool {
        self.tail.segments().position_of(segment).is_some()
    }

    /// The error for damage at `from` whose extent is not known.
    fn unlocated(self, from: Offset) -> StorageError {
        let segments = self.tail.segments();
        let segment = segments.get(segments.number_of(from));
        let context = self.tail.context();
        let path = segment.map_or(context.dir.clone(), |segment| segment.path(FileKind::Log));
        context.corrupt(from..from, &path, 0)
    }
}
