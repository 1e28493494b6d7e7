//! Reads of a log: by offset, by timestamp, and to verify its integrity.

mod checking;
mod lookup;
mod read;

pub use lookup::RecordAt;
pub use read::{Extent, ReadLimit};
