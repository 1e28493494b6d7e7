//! The decision about which records of a batch survive, and the batch that they form.
//!
//! A record is removed if a later one has its key. A tombstone is removed, though it is its key's
//! last record, once its batch's delete horizon has passed (KIP-534). The horizon is set by the
//! first pass over the tombstone, which also removes the older records of its key. Records without
//! a key stay.

use std::collections::HashMap;
use std::time::Duration;

use crate::record::{
    Batch, BatchRewriter, Compression, Compressor, Decompressor, Limits, Record, RecordError,
};
use crate::storage::compaction::dirty::Dirty;
use crate::types::{Offset, ProducerId, Timestamp};

/// The decision on a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The batch stays as it is.
    Whole,
    /// The batch is replaced by this new batch.
    Rewritten(Vec<u8>),
    /// The batch is removed.
    Gone,
}

/// The decisions of a pass.
#[derive(Debug)]
pub(super) struct Survivors {
    dirty: Dirty,
    now: Timestamp,
    delete_retention: Duration,
    keeps_tombstones: bool,
    last_offsets_of_producers: HashMap<ProducerId, Offset>,
    decompressor: Decompressor,
    compressors: Vec<Compressor>,
}

/// The decisions on the records of a batch.
#[derive(Debug, Default)]
struct Verdict {
    stays: Vec<bool>,
    kept: usize,
    has_tombstone: bool,
}

impl Survivors {
    /// Decides by the last offsets in `dirty`.
    pub(super) fn new(
        dirty: Dirty,
        now: Timestamp,
        delete_retention: Duration,
        last_offsets_of_producers: HashMap<ProducerId, Offset>,
    ) -> Self {
        let decompressor = Decompressor::new(Limits::default());
        let compressors = Vec::new();
        Self {
            dirty,
            now,
            delete_retention,
            keeps_tombstones: false,
            last_offsets_of_producers,
            decompressor,
            compressors,
        }
    }

    /// Keeps all tombstones: some segment is left unchanged, and may hold older records of their
    /// keys.
    pub(super) fn keep_tombstones(&mut self) {
        self.keeps_tombstones = true;
    }

    /// Decides on a batch. A batch of which no record survives is emptied rather than removed if it
    /// is the last batch of its producer, or if `is_needed`.
    pub(super) fn judge(
        &mut self,
        batch: &Batch<'_>,
        is_needed: bool,
    ) -> Result<Fate, RecordError> {
        if batch.is_control() || batch.base_offset() >= self.dirty.below {
            return Ok(Fate::Whole);
        }
        let payload = batch.decompressed(&mut self.decompressor)?;
        let limits = *self.decompressor.limits();
        let mut verdict = Verdict::default();
        for record in batch.records(&payload, &limits) {
            self.pass(batch, &record?, &mut verdict);
        }
        let is_needed = is_needed || self.is_last_of_producer(batch);
        if verdict.kept == 0 && !is_needed {
            return Ok(Fate::Gone);
        }
        let horizon = self.horizon(batch, &verdict);
        if verdict.kept == verdict.stays.len() && horizon.is_none() {
            return Ok(Fate::Whole);
        }
        let mut rewriter = BatchRewriter::new(*batch, horizon);
        let mut records = batch.records(&payload, &limits);
        for stays in verdict.stays {
            let start = records.position();
            let Some(record) = records.next().transpose()? else { break };
            let encoded = payload.get(start..records.position()).unwrap_or_default();
            if stays {
                rewriter.keep(&record, encoded)?;
            }
        }
        rewriter.finish(self.compressor(batch.compression())).map(Fate::Rewritten)
    }

    fn pass(&self, batch: &Batch<'_>, record: &Record<'_>, verdict: &mut Verdict) {
        let stays = self.stays(batch, record);
        verdict.stays.push(stays);
        verdict.kept += usize::from(stays);
        verdict.has_tombstone |= stays && record.value.is_none();
    }

    fn stays(&self, batch: &Batch<'_>, record: &Record<'_>) -> bool {
        let offset = batch.offset_of(record);
        let Some(key) = record.key.filter(|_| offset < self.dirty.below) else { return true };
        if self.dirty.map.last(key).is_some_and(|last| last > offset) {
            return false;
        }
        let is_over = batch.has_delete_horizon() && batch.base_timestamp() <= self.now;
        record.value.is_some() || !is_over || self.keeps_tombstones
    }

    /// The delete horizon to set on a batch: only if the batch has none yet, keeps a tombstone, and
    /// this pass covers all of it.
    fn horizon(&self, batch: &Batch<'_>, verdict: &Verdict) -> Option<Timestamp> {
        let is_due = verdict.has_tombstone
            && !batch.has_delete_horizon()
            && batch.next_offset() <= self.dirty.below;
        is_due.then(|| self.now.plus(self.delete_retention))
    }

    fn is_last_of_producer(&self, batch: &Batch<'_>) -> bool {
        let last = batch.producer().and_then(|stamp| self.last_offsets_of_producers.get(&stamp.id));
        last == Some(&batch.last_offset())
    }

    /// The compressor of a codec, at the codec's default level.
    fn compressor(&mut self, codec: Compression) -> &mut Compressor {
        let known = self.compressors.iter().position(|known| known.compression() == codec);
        let place = known.unwrap_or_else(|| {
            let new = Compressor::new(codec, None).unwrap_or(Compressor::none());
            self.compressors.push(new);
            self.compressors.len() - 1
        });
        &mut self.compressors[place]
    }
}
