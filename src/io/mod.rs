//! The engine's only access to the system: files, directories, time, `sendfile`.
//!
//! [`Disk`] and [`Clock`] are seams: the same engine runs on [`SystemDisk`] and, in tests, on a
//! `FaultyDisk` that loses everything not synced. All `unsafe` of the crate is in `sys`.
//!
//! The engine assumes only this of a disk: after `sync_data` the bytes and the length of a file are
//! on the medium; after `sync_dir` the names in a directory are; `rename` within a directory is
//! atomic. It assumes nothing about the order of unsynced writes, or about the state after a failed
//! call.

mod clock;
mod disk;
mod disk_error;
#[cfg(test)]
mod disk_tests;
mod displacement;
#[cfg(test)]
mod displacement_tests;
#[cfg(any(test, feature = "internals"))]
pub mod faulty;
mod file;
#[cfg(feature = "net")]
mod gate;
mod inode;
mod interruptions;
#[cfg(any(test, feature = "internals"))]
mod manual_clock;
#[cfg(any(test, feature = "internals"))]
mod memory;
#[cfg(test)]
mod memory_tests;
mod open_files;
mod random;
mod reporting;
mod send_file;
mod socket;
mod sys;
mod system;
#[cfg(test)]
mod system_tests;
mod world;

pub use clock::{Clock, SystemClock};
pub use disk::{Disk, Entry, OpenMode, create_dir_durably, read_text};
pub(crate) use disk_error::{failed_sync, is_error_of_file, same_error};
pub use disk_error::{is_failed_sync, is_out_of_descriptors, is_out_of_space};
pub use displacement::{is_displaced, require_dir_in_place, require_in_place};
pub use file::{File, FileRange, read_exact_at, write_all_at};
#[cfg(any(test, feature = "internals"))]
pub use file::{extend_to, send_copied};
#[cfg(feature = "net")]
pub use gate::{Gate, Waited};
pub use inode::{DirLock, Inode};
#[cfg(any(test, feature = "internals"))]
pub use manual_clock::ManualClock;
#[cfg(any(test, feature = "internals"))]
pub use memory::MemoryDisk;
pub use open_files::{CachedFile, OpenFiles, Share};
pub use random::SeededRandom;
pub(crate) use reporting::{ReportingDisk, is_reported};
pub use socket::send_buffers;
pub use sys::{boot_id, ignore_file_size_signal, open_file_limit, raise_open_file_limit};
pub use system::{SystemDisk, usable_memory};
pub use world::World;
