//! What a data directory needs from time to time: checkpoints soon after a flush, retention, and
//! the removal of deleted files.

mod clock_watch;
mod passes;
mod schedule;
mod thread;

pub use schedule::UpkeepOptions;
pub use thread::{Upkeep, UpkeepListener};

#[cfg(test)]
mod upkeep_tests;
