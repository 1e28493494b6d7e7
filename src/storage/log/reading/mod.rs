//! Reading a log: by offset, by time, and to check that it still is what was written.

mod checking;
mod lookup;
mod read;

pub use lookup::RecordAt;
pub use read::{Extent, ReadLimit};
