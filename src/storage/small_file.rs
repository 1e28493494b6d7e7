//! Small files that are only replaced as a whole.
//!
//! A replacement is written to `<name>.tmp` beside the old file, synced, renamed over it, and the
//! directory synced. A crash at any step leaves the old bytes or the new ones, never a mixture; a
//! `.tmp` left behind is ignored and overwritten by the next replacement. The caller makes sure
//! that each file has one writer at a time.

use std::ffi::OsString;
use std::io::{self, ErrorKind, IoSlice};
use std::path::{Path, PathBuf};

use crate::io::{Disk, OpenMode, read_exact_at, write_all_at};

/// The content of one of the engine's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored<T> {
    /// There is no such file.
    Absent,
    /// It is damaged, as the text explains. Its content must be rebuilt.
    Damaged(String),
    /// The content of the file, which is whole.
    Sound(T),
}

/// The size of the largest file that is read: the engine writes none that is larger.
const LENGTH_MAX: u64 = 1 << 30;

/// Reads all bytes of a file; `None` if it does not exist.
///
/// # Errors
/// If the disk fails, or the file is too long to be the engine's.
pub(crate) fn read(disk: &dyn Disk, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match disk.open(path, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let length = file.len()?;
    if length > LENGTH_MAX {
        return Err(ErrorKind::FileTooLarge.into());
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| ErrorKind::FileTooLarge)?];
    read_exact_at(&*file, &mut bytes, 0)?;
    Ok(Some(bytes))
}

/// Replaces or creates a file, durably on return.
///
/// # Errors
/// If the disk fails; the file is then the old one or the new one.
pub(crate) fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary(path);
    write_new(disk, &temporary, bytes)?;
    disk.rename(&temporary, path)?;
    sync_parent(disk, path)
}

/// Replaces several files of a directory at the cost of a single directory sync; durable on return.
/// After an error each file is the old one or the new one, independently of the others.
///
/// # Errors
/// As `replace`.
pub(crate) fn replace_all(
    disk: &dyn Disk,
    dir: &Path,
    files: &[(PathBuf, Vec<u8>)],
) -> io::Result<()> {
    for (path, bytes) in files {
        write_new(disk, &temporary(path), bytes)?;
    }
    for (path, _) in files {
        disk.rename(&temporary(path), path)?;
    }
    if files.is_empty() { Ok(()) } else { disk.sync_dir(dir) }
}

/// Writes a file under a name that nothing reads yet, and syncs its bytes but not its name.
pub(crate) fn write_new(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = disk.open(path, OpenMode::Create)?;
    file.set_len(0)?;
    write_all_at(&*file, &mut [IoSlice::new(bytes)], 0)?;
    file.sync_data()
}

/// Removes a file durably; an absent file is no error.
pub(crate) fn remove(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    match disk.remove_file(path) {
        Ok(()) => sync_parent(disk, path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes the name of a file durable.
pub(crate) fn sync_parent(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    disk.sync_dir(path.parent().unwrap_or(Path::new("")))
}

/// The error for a file that a later release has written.
pub(crate) fn too_new(path: &Path, version: i64, known: i64) -> io::Error {
    let text = format!(
        "{} has format version {version}, and this release knows none above {known}",
        path.display()
    );
    io::Error::new(ErrorKind::Unsupported, text)
}

/// The path of a replacement before it is renamed to `path`.
fn temporary(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".tmp");
    name.into()
}
