//! The resources and the limits of one compaction pass.

use crate::config::ByteSize;
use crate::storage::DataDir;
use crate::types::Timestamp;

/// The resources and the limits of a pass.
#[derive(Clone, Copy)]
pub(crate) struct Effort<'a> {
    /// Bytes for the offsets of keys.
    pub(crate) map_size: ByteSize,
    /// The wall clock.
    pub(crate) now: Timestamp,
    /// The directory of the log, which may remove it meanwhile.
    pub(crate) directory: Option<&'a DataDir>,
    /// Called with each number of bytes read; waits to keep to the rate, and returns false to stop.
    pub(crate) keep_going: &'a dyn Fn(u64) -> bool,
}
