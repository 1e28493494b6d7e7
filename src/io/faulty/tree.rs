//! The directories and files that a disk knows, and their names on the medium.
//!
//! The live names are in `names`. The durable name is the name on the inner disk, even if the live
//! name has changed since. A file or directory without a durable name exists in memory only.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::page_cache::CachedFile;
use crate::io::Disk;
use crate::io::memory::{CURRENT, Child, DirectoryId, FileId, NameInDirectory, Names, ROOT};

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
    /// The live names; those in a directory of the inner disk are read when they are first needed.
    pub(super) names: Names,
    /// The directories that have a durable name.
    pub(super) durable: BTreeMap<DirectoryId, DurableName>,
    pub(super) files: BTreeMap<FileId, FileNode>,
}

/// The suffix of a file's name on the inner disk until its bytes are complete. A file that still
/// has this suffix after the end of the process never got its durable name, and is removed.
pub(super) const UNFINISHED: &str = ".streamlog-unfinished";

impl Tree {
    pub(super) fn new() -> Self {
        let root = |path: &str| DurableName::Root(path.into());
        let durable = BTreeMap::from([(ROOT, root("/")), (CURRENT, root("."))]);
        Self { names: Names::unknown(), durable, files: BTreeMap::new() }
    }

    /// Adds a file and returns its number.
    pub(super) fn add_file(&mut self, node: FileNode) -> FileId {
        let id = self.names.new_file();
        self.files.insert(id, node);
        id
    }

    /// The path of a directory on the inner disk; `None` if the inner disk does not have it.
    pub(super) fn path_of(&self, directory: DirectoryId) -> Option<PathBuf> {
        match self.durable.get(&directory)? {
            DurableName::Root(path) => Some(path.clone()),
            DurableName::In(place) => self.path_of_name(place),
        }
    }

    /// The path that a name has, or would have, on the inner disk.
    pub(super) fn path_of_name(&self, place: &NameInDirectory) -> Option<PathBuf> {
        Some(self.path_of(place.directory)?.join(&place.name))
    }

    /// Reads the names in all directories on the way to a path, and in the directory at the path
    /// itself.
    pub(super) fn load(&mut self, inner: &dyn Disk, path: &Path) -> io::Result<()> {
        self.load_way(inner, path)?;
        match self.names.at(path) {
            Ok(Child::Directory(directory)) => self.load_directory(inner, directory),
            _ => Ok(()),
        }
    }

    /// Reads the names in all directories on the way to a path.
    pub(super) fn load_way(&mut self, inner: &dyn Disk, path: &Path) -> io::Result<()> {
        let (mut directory, names) = self.names.split(path)?;
        for name in names {
            self.load_directory(inner, directory)?;
            match self.names.child(&NameInDirectory { directory, name })? {
                Some(Child::Directory(found)) => directory = found,
                Some(Child::File(_)) | None => return Ok(()),
            }
        }
        Ok(())
    }

    fn load_directory(&mut self, inner: &dyn Disk, directory: DirectoryId) -> io::Result<()> {
        if self.names.is_known(directory) {
            return Ok(());
        }
        let path = self.path_of(directory).ok_or(ErrorKind::NotFound)?;
        let mut names = BTreeMap::new();
        for entry in inner.list(&path)? {
            if entry.name.ends_with(UNFINISHED) {
                inner.remove_file(&path.join(&entry.name))?;
                continue;
            }
            let durable_name = NameInDirectory { directory, name: entry.name.clone() };
            let child = if entry.is_dir {
                let id = self.names.new_directory();
                self.durable.insert(id, DurableName::In(durable_name));
                Child::Directory(id)
            } else {
                let node = FileNode {
                    durable_name: Some(durable_name),
                    is_named: true,
                    ..FileNode::default()
                };
                Child::File(self.add_file(node))
            };
            names.insert(entry.name, child);
        }
        self.names.set_known(directory, names);
        Ok(())
    }
}
