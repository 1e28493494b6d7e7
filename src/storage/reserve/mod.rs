//! Space reserved on the disk of a data directory, so that a full disk can still be cleared.

mod chunks;
mod disk;
#[cfg(test)]
mod reserve_tests;

pub(in crate::storage) use chunks::Purpose;
pub use chunks::Reserve;
