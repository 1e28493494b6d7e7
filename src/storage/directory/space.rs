//! How much room the disk of a data directory has.

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
        let (disk, path) = (&self.env.disk, &self.path);
        let refused = |error| StorageError::io("measure the room of", path, error);
        let total = disk.total_bytes(path).map_err(refused)?;
        let free = disk.free_bytes(path).map_err(refused)?;
        Ok(Space { total, free })
    }
}
