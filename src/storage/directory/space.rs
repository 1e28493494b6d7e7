//! The space on a data directory's disk, and the refusal of writes when it runs out.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use crate::io::Disk;
use crate::storage::StorageError;
use crate::storage::directory::data_dir::DataDir;

/// The size of a file system in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// All bytes.
    pub total: u64,
    /// The bytes that can still be written.
    pub free: u64,
}

impl DataDir {
    /// The space on the file system of this directory, whoever uses it.
    pub fn space(&self) -> Result<Space, StorageError> {
        let (disk, path) = (&self.disk, &self.path);
        let refused = |error| StorageError::io("measure the free space of", path, error);
        let total = disk.total_bytes(path).map_err(refused)?;
        let free = disk.free_bytes(path).map_err(refused)?;
        Ok(Space { total, free })
    }

    /// The bytes that logs may still take on the file system of this directory: what the reserve
    /// lacks is not for them.
    pub fn room(&self) -> Result<u64, StorageError> {
        let (missing, _) = self.reserve.missing();
        Ok(self.space()?.free.saturating_sub(missing))
    }

    /// The disk for files of this directory other than logs: on a full disk it uses the reserve.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Returns true if a part of the reserve is used, so that producers are refused.
    pub fn is_short_of_room(&self) -> bool {
        self.reserve.is_short()
    }

    /// Fails if the disk is too full for records of producers and for new topics.
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

    /// Records that a producer has found the disk full, so that maintenance frees space at once.
    pub fn note_refusal(&self) {
        self.reserve.note_refusal();
    }

    /// Returns true if a producer has found the disk full since the last call.
    pub(in crate::storage) fn take_refusal(&self) -> bool {
        self.reserve.take_refusal()
    }

    /// Refills the reserve as far as there is space. Returns true if it is complete.
    pub(in crate::storage) fn restore_reserve(&self) -> Result<bool, StorageError> {
        let logs = self.lock_logs().len() as u64;
        let total = self.space()?.total;
        let restored = self.reserve.restore(logs, total);
        restored.map_err(|source| StorageError::io("restore the reserve of", &self.path, source))
    }

    /// The bytes missing from the reserve, and its full size.
    pub(in crate::storage) fn reserve_missing(&self) -> (u64, u64) {
        self.reserve.missing()
    }

    /// Sets the function that is called when the disk becomes full.
    pub(in crate::storage) fn on_shortage(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.reserve.on_shortage(listener);
    }
}
