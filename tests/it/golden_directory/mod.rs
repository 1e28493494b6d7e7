//! The bytes of a data directory, committed: they are read by every release that comes, and written
//! by this one, byte for byte.

mod files;
mod made;
mod reading;
mod writing;
