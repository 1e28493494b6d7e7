//! The engine's only access to the system: files, directories, time, `sendfile`.
//!
//! [`Disk`] and [`Clock`] can be replaced: the same engine runs on [`SystemDisk`] and, in tests, on
//! a `FaultyDisk` that loses everything not synced. All `unsafe` of the crate is in `sys`.
//!
//! The engine assumes only this of a disk: after `sync_data` the bytes and the length of a file are
//! on the medium; after `sync_dir` the names in a directory are; `rename` within a directory is
//! atomic. It assumes nothing about the order of unsynced writes, or about the state after a failed
//! call.
//!
//! Disks need the feature `embedded` and Linux; the rest, which clients use too, runs on any Unix.

mod clock;
mod direct_buffers;
mod disk;
mod disk_error;
#[cfg(feature = "embedded")]
#[cfg(test)]
mod disk_tests;
mod displacement;
#[cfg(feature = "embedded")]
#[cfg(test)]
mod displacement_tests;
#[cfg(all(feature = "embedded", any(test, feature = "broker", feature = "internals")))]
#[cfg_attr(
    not(any(test, feature = "internals")),
    expect(dead_code, reason = "some faults are injected by the project's own tests only")
)]
pub mod faulty;
mod file;
mod inode;
mod interruptions;
#[cfg(any(test, feature = "internals"))]
mod manual_clock;
#[cfg(all(feature = "embedded", any(test, feature = "broker", feature = "internals")))]
mod memory;
#[cfg(feature = "embedded")]
#[cfg(test)]
mod memory_tests;
#[cfg(feature = "embedded")]
mod open_files;
#[cfg(feature = "cli")]
mod process_watch;
mod random;
#[cfg(feature = "embedded")]
mod reporting;
mod socket;
#[cfg(feature = "embedded")]
mod sys;
#[cfg(feature = "embedded")]
mod system;
#[cfg(feature = "embedded")]
#[cfg(test)]
mod system_tests;
#[cfg(feature = "net")]
mod waiting;
mod worker;
#[cfg(feature = "embedded")]
mod world;

pub use clock::{Clock, SystemClock};
pub use direct_buffers::{DirectBuffer, DirectBuffers};
pub use disk::{Disk, Entry, OpenMode, create_dir_durably, read_text};
pub(crate) use disk_error::{failed_sync, is_error_of_file, same_error};
pub use disk_error::{is_failed_sync, is_out_of_descriptors, is_out_of_space};
pub use displacement::{is_displaced, require_dir_in_place, require_in_place};
pub(crate) use file::FileWrapper;
pub use file::{File, FileRange, read_exact_at, write_all_at};
#[cfg(any(test, feature = "broker", feature = "internals"))]
pub use file::{extend_to, send_copied};
pub use inode::{DirLock, Inode};
#[cfg(any(test, feature = "internals"))]
pub use manual_clock::ManualClock;
#[cfg(all(feature = "embedded", any(test, feature = "broker", feature = "internals")))]
pub use memory::MemoryDisk;
#[cfg(feature = "embedded")]
pub use open_files::{CachedFile, OpenFiles, Share};
#[cfg(feature = "cli")]
pub(crate) use process_watch::ProcessWatch;
pub use random::SeededRandom;
#[cfg(feature = "embedded")]
pub(crate) use reporting::{ReportingDisk, is_reported};
pub use socket::send_buffers;
#[cfg(feature = "embedded")]
pub use sys::{boot_id, ignore_file_size_signal, open_file_limit, raise_open_file_limit};
#[cfg(feature = "embedded")]
pub use system::{SystemDisk, usable_memory};
#[cfg(feature = "net")]
pub use waiting::{Gate, Waited, WakeFd, nonblocking_pipe};
pub(crate) use worker::{PanicReport, Worker};
#[cfg(feature = "embedded")]
pub use world::World;
