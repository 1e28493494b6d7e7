//! The digests of a segment's headers in its seal.

use std::sync::Arc;

use crate::storage::StorageError;
use crate::storage::segments::{FileKind, HeaderDigest, HeaderDigests, HeldDigests, Seal, Segment};
use crate::types::Offset;

impl Segment {
    /// The digests of the segment's headers. They stay in memory until they are released.
    pub(crate) fn digests(&self) -> Result<Arc<[HeaderDigest]>, StorageError> {
        // Hold the lock while the file is read: another segment may take the file over as soon as
        // this segment's digests are in memory.
        let mut digests = self.lock_digests();
        if let Some(loaded) = digests.loaded() {
            return Ok(Arc::clone(loaded));
        }
        let path = self.path(FileKind::Seal);
        let loaded = Seal::load_digests(&*self.context.disk, &path)
            .map_err(|error| StorageError::read(&path, error))?;
        let loaded: Arc<[_]> = loaded.into();
        digests.load(Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Drops the digests from memory if they can be read from the seal again.
    pub(crate) fn release_digests(&self) {
        self.lock_digests().release();
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

    /// The digests of the stretches below `size`, for a segment that will grow from `size` on. If
    /// the seal has digests of bytes beyond `size`, it is removed, since other batches will take
    /// their place.
    pub(crate) fn digests_to_grow(&self, size: u64) -> Result<HeaderDigests, StorageError> {
        let digests = self.digests()?;
        let (kept, beyond): (Vec<_>, Vec<_>) =
            digests.iter().copied().partition(|digest| digest.end <= size);
        if !beyond.is_empty() {
            self.remove_seal()?;
            self.context.sync_names()?;
        }
        *self.lock_digests() = HeldDigests::default();
        Ok(HeaderDigests::resumed(kept))
    }
}
