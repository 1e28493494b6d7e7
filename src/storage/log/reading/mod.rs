//! Reads of a log: by offset, by timestamp, and to verify its integrity.

mod checking;
mod cold;
mod lookup;
mod read;

pub use checking::Checks;
pub use cold::{ColdRanges, InMemory, StoredBatches};
pub use lookup::{Lookups, RecordAt};
pub use read::{Extent, ReadLimit, Reads};
