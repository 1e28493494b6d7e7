//! What a broker process does when its disk, or its data directory, does not do as it should.

mod clocks;
mod descriptors;
mod directory;
mod errors;
mod every_file;
mod interruptions;
mod lost_metadata;
mod small_files;
