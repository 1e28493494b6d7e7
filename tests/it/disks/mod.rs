//! Brokers whose disk or data directory misbehaves.

mod clocks;
mod descriptors;
mod directory;
mod errors;
mod every_file;
mod interruptions;
mod lost_files;
mod lost_metadata;
mod room;
mod small_files;
