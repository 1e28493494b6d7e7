//! The files of removed segments until their space is given back.

use std::path::PathBuf;
use std::sync::Weak;
use std::time::Duration;

use crate::storage::segments::Segment;

/// A file of a removed segment, under its new name until it is deleted.
#[derive(Debug)]
pub(super) struct DeletedFile {
    pub(super) path: PathBuf,
    /// The time of its deletion, by the monotonic clock.
    pub(super) due: Duration,
    /// The segment, if readers still use it.
    pub(super) segment: Weak<Segment>,
}

impl DeletedFile {
    /// Closes the files of its segment, under the readers that still use them.
    pub(super) fn close(&self) {
        if let Some(segment) = self.segment.upgrade() {
            segment.retire();
        }
    }
}
