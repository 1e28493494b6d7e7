//! The kernel's file systems behind the traits [`Disk`](crate::io::Disk) and
//! [`File`](crate::io::File).
//!
//! Files are created with mode 0600 and directories with 0700; every descriptor closes on exec. An
//! interrupted call is repeated a bounded number of times. Paths never come from a client
//! unchecked: a path built from a topic's name is validated by its caller.

mod disk;
mod file;
mod medium;
mod memory;

pub use disk::SystemDisk;
pub use memory::usable_memory;
