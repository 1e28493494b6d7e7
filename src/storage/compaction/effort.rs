//! The resources and the limits of one compaction pass.

use crate::config::ByteSize;
use crate::storage::DataDir;
use crate::types::Timestamp;

/// What a pass may use, and who can stop it.
#[derive(Clone, Copy)]
pub(crate) struct Effort<'a> {
    /// Bytes for the offsets of keys.
    pub(crate) map_size: ByteSize,
    /// The wall clock.
    pub(crate) now: Timestamp,
    /// The directory the log is in, which may remove it meanwhile.
    pub(crate) directory: Option<&'a DataDir>,
    /// Told of every so many bytes; waits as long as they are worth, and tells whether to go on.
    pub(crate) goes_on: &'a dyn Fn(u64) -> bool,
}
