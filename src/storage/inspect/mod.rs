//! Inspection of files without opening a log: their content and their integrity.
//!
//! Nothing is written, locked or repaired. The files of a running broker may be inspected: its last
//! batch may then appear to be incomplete.

mod dump;
mod findings;
mod indexes;
mod small_files;
mod summary;
mod verify;

pub use dump::{DumpedBatch, DumpedRecord, SegmentDump};
pub use findings::{Finding, Flaw, LogReport};
pub use small_files::verify_small_files;
pub use summary::{LogSummary, summarize_logs};
#[cfg(any(test, feature = "internals"))]
pub use verify::verify;
pub use verify::{segment_bytes_system, verify_system};

#[cfg(test)]
mod inspect_tests;
