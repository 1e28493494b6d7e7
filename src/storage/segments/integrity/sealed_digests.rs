//! The digests of a segment's headers, in memory and in its seal.

use std::sync::{Arc, MutexGuard, PoisonError};

use crate::storage::StorageError;
use crate::storage::segments::{FileKind, HeaderDigest, HeaderDigests, Seal, Segment};
use crate::types::Offset;

/// The digests of a segment's headers that are in memory.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    held: Option<Arc<[HeaderDigest]>>,
    /// True if they cannot be read from the seal, because it was not written yet or was replaced.
    is_only_copy: bool,
}

impl Digests {
    /// The digests in memory.
    pub(crate) fn held(&self) -> &[HeaderDigest] {
        self.held.as_deref().unwrap_or_default()
    }

    /// Stores digests that are not on disk yet.
    pub(crate) fn hold(&mut self, digests: Vec<HeaderDigest>) {
        self.held = Some(digests.into());
        self.is_only_copy = true;
    }

    /// Keeps the digests in memory for good, because the seal becomes another segment's.
    pub(crate) fn keep(&mut self) {
        self.is_only_copy = true;
    }
}

impl Segment {
    /// The digests of its headers. They stay in memory until they are released.
    pub(crate) fn digests(&self) -> Result<Arc<[HeaderDigest]>, StorageError> {
        // Hold the lock while the file is read: another segment may take the file over as soon as
        // this segment's digests are in memory.
        let mut digests = self.lock_digests();
        if let Some(held) = &digests.held {
            return Ok(Arc::clone(held));
        }
        let path = self.path(FileKind::Seal);
        let loaded = Seal::load_digests(&*self.context.disk, &path)
            .map_err(|error| StorageError::read(&path, error))?;
        let loaded: Arc<[_]> = loaded.into();
        digests.held = Some(Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Drops the digests from memory if they can be read from the seal again.
    pub(crate) fn release_digests(&self) {
        let mut digests = self.lock_digests();
        if !digests.is_only_copy {
            digests.held = None;
        }
    }

    /// Adds digests to the seal of the finished segment, whose offsets end at `next_offset`.
    pub(crate) fn gain_digests(
        &self,
        digests: Vec<HeaderDigest>,
        next_offset: Offset,
    ) -> Result<(), StorageError> {
        self.facts(next_offset)?;
        self.lock_digests().hold(digests);
        self.write_seal()
    }

    /// Stores the current digests of the active segment.
    pub(crate) fn checkpoint_digests(
        &self,
        seal: &Seal,
        digests: &[HeaderDigest],
    ) -> Result<(), StorageError> {
        let path = self.path(FileKind::Seal);
        let stored = seal.store(&*self.context.disk, &path, digests);
        stored.map_err(|error| StorageError::io("write", &path, error))
    }

    /// The digests of a segment that will grow from `size` on. Digests that cover bytes beyond are
    /// also removed from the disk, since other batches will be there.
    pub(crate) fn digests_to_grow(&self, size: u64) -> Result<HeaderDigests, StorageError> {
        let digests = self.digests()?;
        let (kept, beyond): (Vec<_>, Vec<_>) =
            digests.iter().copied().partition(|digest| digest.end <= size);
        if !beyond.is_empty() {
            self.remove_seal()?;
            self.context.sync_names()?;
        }
        *self.lock_digests() = Digests::default();
        Ok(HeaderDigests::resumed(kept))
    }

    pub(in crate::storage::segments) fn lock_digests(&self) -> MutexGuard<'_, Digests> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
