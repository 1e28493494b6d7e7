//! The directories and files a disk knows, and their names on the medium.
//!
//! Live names are in `children`. The durable name is the name on the inner disk, whatever the live
//! name is by now. A file or directory without a durable name exists in memory only.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use super::page_cache::CachedFile;
use crate::io::{Disk, Inode};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DirectoryId(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileId(u64);

impl DirectoryId {
    /// The identity that users of the disk see.
    pub(super) fn inode(self) -> Inode {
        Inode { device: 0, number: self.0, born: None }
    }
}

impl FileId {
    /// The identity that users of the disk see.
    pub(super) fn inode(self) -> Inode {
        Inode { device: 0, number: self.0, born: None }
    }
}

/// The file or directory that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    File(FileId),
    Directory(DirectoryId),
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameInDirectory {
    pub(super) directory: DirectoryId,
    pub(super) name: String,
}

/// A directory.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) durable_name: Option<DurableName>,
    /// `None` until it was read from the inner disk.
    children: Option<BTreeMap<String, Child>>,
}

/// The name of a directory on the inner disk.
#[derive(Debug)]
pub(super) enum DurableName {
    Root(PathBuf),
    In(NameInDirectory),
}

/// A file; its cache exists while it is open or differs from the medium.
#[derive(Debug, Default)]
pub(super) struct FileNode {
    pub(super) durable_name: Option<NameInDirectory>,
    pub(super) cached: Option<CachedFile>,
    pub(super) handles: usize,
    /// True if it has a live name.
    pub(super) is_named: bool,
}

/// All directories and files seen so far, by number.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) directories: BTreeMap<DirectoryId, Directory>,
    pub(super) files: BTreeMap<FileId, FileNode>,
    next: u64,
}

/// The suffix of a file's name on the inner disk until its bytes are complete. A file left over
/// with it, by the end of the process, stands for a name that never became durable.
pub(super) const UNFINISHED: &str = ".streamlog-unfinished";

/// The directory in which absolute paths begin.
const ROOT: DirectoryId = DirectoryId(0);
/// The directory in which relative paths begin.
const CURRENT: DirectoryId = DirectoryId(1);

impl Tree {
    pub(super) fn new() -> Self {
        let root = |path: &str| Directory {
            durable_name: Some(DurableName::Root(path.into())),
            children: None,
        };
        let directories = BTreeMap::from([(ROOT, root("/")), (CURRENT, root("."))]);
        Self { directories, files: BTreeMap::new(), next: 2 }
    }

    /// Adds a file and returns its number.
    pub(super) fn add_file(&mut self, node: FileNode) -> FileId {
        self.next += 1;
        let id = FileId(self.next);
        self.files.insert(id, node);
        id
    }

    /// Adds an empty directory without a name.
    pub(super) fn add_directory(&mut self) -> DirectoryId {
        self.insert_directory(None, Some(BTreeMap::new()))
    }

    fn insert_directory(
        &mut self,
        durable_name: Option<DurableName>,
        children: Option<BTreeMap<String, Child>>,
    ) -> DirectoryId {
        self.next += 1;
        let id = DirectoryId(self.next);
        self.directories.insert(id, Directory { durable_name, children });
        id
    }

    /// The path of a directory on the inner disk; `None` if it is not there.
    pub(super) fn path_of(&self, directory: DirectoryId) -> Option<PathBuf> {
        match self.directories.get(&directory)?.durable_name.as_ref()? {
            DurableName::Root(path) => Some(path.clone()),
            DurableName::In(place) => self.path_of_name(place),
        }
    }

    /// The path that a name has, or would have, on the inner disk.
    pub(super) fn path_of_name(&self, place: &NameInDirectory) -> Option<PathBuf> {
        Some(self.path_of(place.directory)?.join(&place.name))
    }

    /// The live names in a directory.
    pub(super) fn children(
        &mut self,
        inner: &dyn Disk,
        directory: DirectoryId,
    ) -> io::Result<&mut BTreeMap<String, Child>> {
        let is_known = self.directories.get(&directory).is_some_and(|dir| dir.children.is_some());
        if !is_known {
            let children = self.load(inner, directory)?;
            if let Some(known) = self.directories.get_mut(&directory) {
                known.children = Some(children);
            }
        }
        let known = self.directories.get_mut(&directory).and_then(|dir| dir.children.as_mut());
        known.ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn load(
        &mut self,
        inner: &dyn Disk,
        directory: DirectoryId,
    ) -> io::Result<BTreeMap<String, Child>> {
        let path = self.path_of(directory).ok_or(ErrorKind::NotFound)?;
        let mut children = BTreeMap::new();
        for entry in inner.list(&path)? {
            if entry.name.ends_with(UNFINISHED) {
                inner.remove_file(&path.join(&entry.name))?;
                continue;
            }
            let durable_name = NameInDirectory { directory, name: entry.name.clone() };
            let child = if entry.is_dir {
                Child::Directory(self.insert_directory(Some(DurableName::In(durable_name)), None))
            } else {
                let node = FileNode {
                    durable_name: Some(durable_name),
                    is_named: true,
                    ..FileNode::default()
                };
                Child::File(self.add_file(node))
            };
            children.insert(entry.name, child);
        }
        Ok(children)
    }

    /// The file or directory at a live name.
    pub(super) fn child(
        &mut self,
        inner: &dyn Disk,
        place: &NameInDirectory,
    ) -> io::Result<Option<Child>> {
        Ok(self.children(inner, place.directory)?.get(&place.name).copied())
    }

    /// The directory in which a path begins, and the names that follow.
    pub(super) fn names(path: &Path) -> io::Result<(DirectoryId, Vec<String>)> {
        let mut start = CURRENT;
        let mut names = Vec::new();
        for part in path.components() {
            match part {
                Component::RootDir => start = ROOT,
                Component::CurDir => {}
                Component::Normal(name) => names.push(name.to_string_lossy().into_owned()),
                Component::ParentDir | Component::Prefix(_) => {
                    return Err(ErrorKind::InvalidInput.into());
                }
            }
        }
        Ok((start, names))
    }

    /// The live directory at a path.
    pub(super) fn directory(&mut self, inner: &dyn Disk, path: &Path) -> io::Result<DirectoryId> {
        let (mut directory, names) = Self::names(path)?;
        for name in names {
            directory = match self.child(inner, &NameInDirectory { directory, name })? {
                Some(Child::Directory(found)) => found,
                Some(Child::File(_)) => return Err(ErrorKind::NotADirectory.into()),
                None => return Err(ErrorKind::NotFound.into()),
            };
        }
        Ok(directory)
    }

    /// The live directory of a path's last name, and that name.
    pub(super) fn place(&mut self, inner: &dyn Disk, path: &Path) -> io::Result<NameInDirectory> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let directory = self.directory(inner, parent)?;
        Ok(NameInDirectory { directory, name: name.to_string_lossy().into_owned() })
    }
}
