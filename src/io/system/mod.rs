//! The kernel's file systems behind the seams [`Disk`](crate::io::Disk) and
//! [`File`](crate::io::File).
//!
//! Files are made with mode 0600 and directories with 0700; every descriptor closes on exec.
//! A call that the kernel breaks off returns what it returned: nothing is repeated here. Paths
//! never come from a stranger; whoever makes one from a topic's name has checked it.

mod disk;
mod file;
mod medium;
mod memory;

pub use disk::SystemDisk;
pub use memory::usable_memory;
