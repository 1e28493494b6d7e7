//! Maintenance of a data directory: checkpoints soon after a flush, retention, compaction,
//! scrubbing, and the deletion of removed files.

mod age_clock;
mod compactor;
mod listener;
mod passes;
mod relief;
mod schedule;
mod scrub;
mod upkeep_thread;

pub use age_clock::AgeClock;
pub use compactor::CompactionOptions;
pub use listener::UpkeepListener;
pub use schedule::UpkeepOptions;
pub use scrub::ScrubOptions;
pub use upkeep_thread::Upkeep;

#[cfg(test)]
mod upkeep_tests;
