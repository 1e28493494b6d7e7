//! Reads of a log: by offset, by timestamp, and to verify its integrity.

mod checking;
mod cold;
mod lookup;
mod read;

pub use cold::{InMemory, StoredBatches};
pub use lookup::RecordAt;
pub use read::{Extent, ReadLimit};
