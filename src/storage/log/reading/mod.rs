//! Reads of a log: by offset, by timestamp, and to verify its integrity.

mod checking;
mod cold;
mod extent;
mod lookup;
mod read;
mod search;

pub use checking::Checks;
pub use cold::{ColdRanges, InMemory, StoredBatches};
pub use extent::{Extent, ReadLimit};
pub use lookup::{Lookups, RecordAt};
pub use read::Reads;
