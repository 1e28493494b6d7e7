//! Names, directories and locks of the kernel's file systems.

#![expect(clippy::disallowed_methods, reason = "this is the disk they are reached through")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, TryLockError};
use std::io::{self, ErrorKind, IoSlice, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use nix::fcntl::{self, OFlag, PosixFadviseAdvice, posix_fadvise};
use nix::sys::stat::Mode;
use nix::sys::statvfs::statvfs;
use nix::unistd::{fsync, syncfs};

use super::file::{SystemFile, inode_of};
use crate::io::interruptions::uninterrupted;
use crate::io::{
    DirLock, Disk, Entry, File, Inode, OpenMode, boot_id, failed_sync, is_out_of_space,
    write_all_at,
};

/// The maximum number of bytes read from the note of another owner.
const OWNER_LIMIT: u64 = 1024;

/// The mounts that this process sees (`proc_pid_mountinfo(5)`).
const MOUNTS: &str = "/proc/self/mountinfo";

/// The file systems of the machine. Clones share the descriptors for `sync_filesystem`.
#[derive(Clone, Debug, Default)]
pub struct SystemDisk {
    /// The directories given to `sync_filesystem`. The kernel reports a failed write-back once to
    /// each descriptor that was open when it happened, so these stay open.
    filesystems: Arc<Mutex<BTreeMap<PathBuf, Arc<fs::File>>>>,
}

/// The mount point in a line of [`MOUNTS`]: the fifth field, with spaces and such as `\040`.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let field = line.split(|byte| *byte == b' ').nth(4)?;
    let mut path = Vec::with_capacity(field.len());
    let mut left = field;
    while let [byte, rest @ ..] = left {
        let code = (*byte == b'\\').then(|| rest.get(..3)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(str::from_utf8(code).ok()?, 8).ok());
        path.push(code.unwrap_or(*byte));
        left = if code.is_some() { &rest[3..] } else { rest };
    }
    Some(PathBuf::from(OsString::from_vec(path)))
}

impl SystemDisk {
    fn filesystem(&self, path: &Path) -> io::Result<Arc<fs::File>> {
        let mut open = self.filesystems.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(filesystem) = open.get(path) {
            return Ok(Arc::clone(filesystem));
        }
        let filesystem = Arc::new(fs::File::open(path)?);
        open.insert(path.to_owned(), Arc::clone(&filesystem));
        Ok(filesystem)
    }
}

impl Disk for SystemDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let file = open(path, mode)?;
        // Disable the kernel's readahead, so that only the bytes asked for are read into memory and
        // a reader knows which bytes came from the medium. If this fails, the kernel only reads
        // more than asked for.
        let _ = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM);
        Ok(Arc::new(SystemFile::new(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            // A symbolic link counts as its target; a dangling one counts as a file.
            let is_dir = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
            entries.push(Entry { name: entry.file_name().to_string_lossy().into_owned(), is_dir });
        }
        entries.sort();
        Ok(entries)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        fs::exists(path)
    }

    fn inode(&self, path: &Path) -> io::Result<Inode> {
        Ok(inode_of(&fs::metadata(path)?))
    }

    /// On other systems than Linux no mount is known, and moving one fails.
    fn has_mounts(&self, path: &Path) -> io::Result<bool> {
        let mounts = match fs::read(MOUNTS) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            mounts => mounts?,
        };
        // Resolve the parent only: a symbolic link to another file system is no mount.
        let path = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => {
                fs::canonicalize(parent)?.join(name)
            }
            _ => std::path::absolute(path)?,
        };
        let points = mounts.split(|byte| *byte == b'\n').filter_map(mount_point);
        Ok(points.into_iter().any(|point| point.starts_with(&path)))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        // The parent of a relative name is the empty path, which the system cannot open.
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        let dir = fs::File::open(dir)?;
        uninterrupted(|| Ok(fsync(&dir)?)).map_err(failed_sync)
    }

    fn sync_filesystem(&self, path: &Path) -> io::Result<()> {
        let filesystem = self.filesystem(path)?;
        uninterrupted(|| Ok(syncfs(&filesystem)?)).map_err(failed_sync)
    }

    fn boot_id(&self) -> io::Result<String> {
        boot_id()
    }

    fn total_bytes(&self, path: &Path) -> io::Result<u64> {
        let usage = statvfs(path)?;
        Ok(usage.blocks().saturating_mul(usage.fragment_size()))
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        let usage = statvfs(path)?;
        Ok(usage.blocks_available().saturating_mul(usage.fragment_size()))
    }

    fn lock(&self, dir: &Path, note: &Path, owner: &str) -> io::Result<DirLock> {
        let directory = fs::File::open(dir)?;
        let inode = inode_of(&directory.metadata()?);
        let mut locks = Locks::default();
        locks.take(directory, note)?;
        // Earlier releases lock the note and not the directory. Lock the note too, so that they
        // notice this owner, and this call notices them.
        match open(note, OpenMode::Create) {
            Ok(noted) => {
                let written = SystemFile::new(noted.try_clone()?);
                locks.take(noted, note)?;
                write_note(&written, owner)?;
            }
            Err(error) if is_out_of_space(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(DirLock::new(inode, Box::new(locks)))
    }
}

/// Locked files, which are unlocked when this is dropped.
///
/// Closing the files would not suffice: the kernel keeps a lock until every copy of the descriptor
/// is closed. A child process has copies until it executes its program, and after a plain fork
/// until it ends.
struct Locks {
    files: Vec<fs::File>,
    /// The process that took the locks. In a fork of it, dropping this value must not release them.
    process: u32,
}

impl Default for Locks {
    fn default() -> Self {
        Self { files: Vec::new(), process: process::id() }
    }
}

impl Locks {
    /// Takes the lock on an open file or directory.
    ///
    /// # Errors
    /// `WouldBlock` with the note's text, if another process holds it.
    fn take(&mut self, file: fs::File, note: &Path) -> io::Result<()> {
        match file.try_lock() {
            Ok(()) => {
                self.files.push(file);
                Ok(())
            }
            Err(TryLockError::WouldBlock) => {
                Err(io::Error::new(ErrorKind::WouldBlock, read_note(note)?))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Locks {
    fn drop(&mut self) {
        if self.process == process::id() {
            // If `unlock` fails, the lock ends with the last copy of the descriptor.
            self.files.iter().for_each(|file| drop(file.unlock()));
        }
    }
}

fn read_note(note: &Path) -> io::Result<String> {
    let mut owner = Vec::new();
    match fs::File::open(note) {
        Ok(file) => file.take(OWNER_LIMIT).read_to_end(&mut owner)?,
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    let owner = String::from_utf8_lossy(&owner).into_owned();
    Ok(if owner.is_empty() { "another process".to_owned() } else { owner })
}

/// Writes the note. A full disk is no error: the owner must still be able to open its data.
fn write_note(note: &SystemFile, owner: &str) -> io::Result<()> {
    let write = || write_all_at(note, &mut [IoSlice::new(owner.as_bytes())], 0);
    match note.set_len(0).and_then(|()| write()) {
        Err(error) if is_out_of_space(&error) => Ok(()),
        written => written,
    }
}

/// Opens a file. Unlike the standard library's call, it repeats EINTR only a bounded number of
/// times.
fn open(path: &Path, mode: OpenMode) -> io::Result<fs::File> {
    let flags = OFlag::O_CLOEXEC
        | match mode {
            OpenMode::Read => OFlag::O_RDONLY,
            OpenMode::Write => OFlag::O_RDWR,
            OpenMode::Create => OFlag::O_RDWR | OFlag::O_CREAT,
            OpenMode::CreateNew => OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL,
        };
    let opened = uninterrupted(|| Ok(fcntl::open(path, flags, Mode::S_IRUSR | Mode::S_IWUSR)?))?;
    Ok(opened.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_with_its_holder_although_copies_of_the_descriptor_are_open() {
        let directory = tempfile::tempdir().unwrap();
        let note = directory.path().join(".lock");
        let taken = || {
            let mut locks = Locks::default();
            locks.take(fs::File::open(directory.path()).unwrap(), &note).map(|()| locks)
        };
        let held = taken().unwrap();
        let _copy_of_a_child = held.files[0].try_clone().unwrap();
        assert_eq!(taken().err().map(|error| error.kind()), Some(ErrorKind::WouldBlock));
        drop(held);
        assert!(taken().is_ok());
    }

    #[test]
    fn a_fork_does_not_release_the_lock_of_its_parent() {
        let directory = tempfile::tempdir().unwrap();
        let note = directory.path().join(".lock");
        let mut held = Locks::default();
        held.take(fs::File::open(directory.path()).unwrap(), &note).unwrap();
        let files = held.files.iter().map(|file| file.try_clone().unwrap()).collect();
        drop(Locks { files, process: held.process + 1 });
        let refused = Locks::default().take(fs::File::open(directory.path()).unwrap(), &note);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}
