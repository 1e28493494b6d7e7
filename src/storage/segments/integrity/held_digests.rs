//! The digests of a segment's headers in memory.

use std::sync::Arc;

use crate::storage::segments::HeaderDigest;

/// The digests of a segment's headers that are in memory.
#[derive(Debug, Default)]
pub(crate) struct HeldDigests {
    held: Option<Arc<[HeaderDigest]>>,
    /// True if the digests cannot be read from the seal, because it was not written yet or was
    /// replaced.
    is_only_copy: bool,
}

impl HeldDigests {
    /// The digests in memory; `None` if they are only in the seal.
    pub(crate) fn loaded(&self) -> Option<&Arc<[HeaderDigest]>> {
        self.held.as_ref()
    }

    /// The digests in memory.
    pub(crate) fn held(&self) -> &[HeaderDigest] {
        self.held.as_deref().unwrap_or_default()
    }

    /// Stores digests that are not on disk yet.
    pub(crate) fn hold(&mut self, digests: Vec<HeaderDigest>) {
        self.held = Some(digests.into());
        self.is_only_copy = true;
    }

    /// Stores digests that were read from the seal.
    pub(crate) fn load(&mut self, digests: Arc<[HeaderDigest]>) {
        self.held = Some(digests);
    }

    /// Keeps the digests in memory for good, because the seal becomes another segment's.
    pub(crate) fn keep(&mut self) {
        self.is_only_copy = true;
    }

    /// Drops the digests if they can be read from the seal again.
    pub(crate) fn release(&mut self) {
        if !self.is_only_copy {
            self.held = None;
        }
    }
}
