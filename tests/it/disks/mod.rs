//! Brokers whose disk or data directory misbehaves.

mod clocks;
mod compaction_clock;
mod descriptors;
mod directory;
mod errors;
mod every_file;
mod foreign_files;
mod interruptions;
mod lost_files;
mod lost_metadata;
mod room;
mod small_files;
