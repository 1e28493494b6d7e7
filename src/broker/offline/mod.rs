//! Work on a data directory while no broker has it open: verification and repair of its metadata.

mod inspection;
mod rebuild;

pub use inspection::{DirectoryFinding, verify_directory, verify_directory_on};
pub use rebuild::{RebuiltMetadata, rebuild_metadata, rebuild_on};
