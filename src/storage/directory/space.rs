//! How much room the disk of a data directory has, and whether there is enough for producers.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use crate::io::Disk;
use crate::storage::StorageError;
use crate::storage::directory::data_dir::DataDir;

/// Bytes of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// All of them.
    pub total: u64,
    /// Those that may still be written.
    pub free: u64,
}

impl DataDir {
    /// The room on the file system of this directory, by whomever it is used.
    pub fn space(&self) -> Result<Space, StorageError> {
        let (disk, path) = (&self.disk, &self.path);
        let refused = |error| StorageError::io("measure the room of", path, error);
        let total = disk.total_bytes(path).map_err(refused)?;
        let free = disk.free_bytes(path).map_err(refused)?;
        Ok(Space { total, free })
    }

    /// The disk for what belongs to this directory and is not a log: on a full disk it uses the
    /// reserve.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Whether a part of the reserve is used, so that producers are refused.
    pub fn is_short_of_room(&self) -> bool {
        self.reserve.is_short()
    }

    /// Refuses what producers, and whoever makes topics, would add to a full disk.
    ///
    /// # Errors
    /// `OutOfSpace` while a part of the reserve is used.
    pub fn require_room(&self) -> Result<(), StorageError> {
        if !self.reserve.is_short() {
            return Ok(());
        }
        let (missing, whole) = self.reserve.missing();
        let cause = format!("its reserve lacks {missing} of {whole} bytes");
        let source = io::Error::new(ErrorKind::StorageFull, cause);
        Err(StorageError::io("write", &self.path, source))
    }

    /// Says that a producer has found the disk full: upkeep is to look for room at once.
    pub fn note_refusal(&self) {
        self.reserve.note_refusal();
    }

    /// Whether a producer has found the disk full since the last call.
    pub(in crate::storage) fn take_refusal(&self) -> bool {
        self.reserve.take_refusal()
    }

    /// Makes the reserve whole again as far as there is room. Returns whether it is.
    pub(in crate::storage) fn restore_reserve(&self) -> Result<bool, StorageError> {
        let logs = self.lock_logs().len() as u64;
        let total = self.space()?.total;
        let restored = self.reserve.restore(logs, total);
        restored.map_err(|source| StorageError::io("restore the reserve of", &self.path, source))
    }

    /// Bytes that the reserve lacks, and bytes of all of it.
    pub(in crate::storage) fn reserve_missing(&self) -> (u64, u64) {
        self.reserve.missing()
    }

    /// Sets the function that is called when the disk turns out to be full.
    pub(in crate::storage) fn on_shortage(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.reserve.on_shortage(listener);
    }
}
