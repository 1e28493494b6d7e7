//! The names of a file system in memory, the files that they refer to, and the rules for changing
//! them.
//!
//! The file systems that use [`Names`] keep their files by number in a map of their own. The names
//! in a directory may be unknown at first: the faulty disk reads them from its inner disk when they
//! are first needed.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Component, Path};

use crate::io::{Entry, Inode, OpenMode};

/// The number of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::io) struct DirectoryId(u64);

/// The number of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::io) struct FileId(u64);

/// The file or directory that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) enum Child {
    File(FileId),
    Directory(DirectoryId),
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::io) struct NameInDirectory {
    pub(in crate::io) directory: DirectoryId,
    pub(in crate::io) name: String,
}

/// A change of names.
#[derive(Clone, Debug)]
pub(in crate::io) enum Change {
    /// A new file or directory got a name.
    Link { place: NameInDirectory, child: Child },
    /// A name was removed.
    Unlink { place: NameInDirectory, child: Child },
    /// A child got another name, which `replaced` had before, if set.
    Move { from: NameInDirectory, to: NameInDirectory, child: Child, replaced: Option<Child> },
}

/// All names.
#[derive(Debug)]
pub(in crate::io) struct Names {
    /// The names in each directory; `None` while they are not known.
    directories: BTreeMap<DirectoryId, Option<BTreeMap<String, Child>>>,
    /// The number of files and directories ever made.
    made: u64,
}

/// The directory in which absolute paths begin.
pub(in crate::io) const ROOT: DirectoryId = DirectoryId(0);
/// The directory in which relative paths begin. They begin at the root if it does not exist.
pub(in crate::io) const CURRENT: DirectoryId = DirectoryId(1);

impl Child {
    /// The identity that users of the disk see.
    pub(in crate::io) fn inode(self) -> Inode {
        let (Self::File(FileId(number)) | Self::Directory(DirectoryId(number))) = self;
        Inode { device: 0, number, born: None }
    }
}

impl Names {
    /// Two directories whose names are not known yet: those in which absolute and relative paths
    /// begin.
    pub(in crate::io) fn unknown() -> Self {
        Self { directories: BTreeMap::from([(ROOT, None), (CURRENT, None)]), made: 2 }
    }

    /// An empty file system.
    pub(super) fn empty() -> Self {
        Self { directories: BTreeMap::from([(ROOT, Some(BTreeMap::new()))]), made: 2 }
    }

    /// The number of a new file.
    pub(in crate::io) fn new_file(&mut self) -> FileId {
        self.made += 1;
        FileId(self.made)
    }

    /// The number of a new directory whose names are not known yet.
    pub(in crate::io) fn new_directory(&mut self) -> DirectoryId {
        self.made += 1;
        let id = DirectoryId(self.made);
        self.directories.insert(id, None);
        id
    }

    /// Returns true if the names in a directory are known.
    pub(in crate::io) fn is_known(&self, directory: DirectoryId) -> bool {
        self.directories.get(&directory).is_some_and(Option::is_some)
    }

    /// Adds the names in a directory, which were not known before.
    pub(in crate::io) fn set_known(
        &mut self,
        directory: DirectoryId,
        names: BTreeMap<String, Child>,
    ) {
        self.directories.insert(directory, Some(names));
    }

    /// Drops a directory that was removed.
    pub(in crate::io) fn forget(&mut self, directory: DirectoryId) {
        self.directories.remove(&directory);
    }

    /// The directory in which a path begins, and the names that follow.
    pub(in crate::io) fn split(&self, path: &Path) -> io::Result<(DirectoryId, Vec<String>)> {
        let mut start = if self.directories.contains_key(&CURRENT) { CURRENT } else { ROOT };
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

    /// The file or directory with a name, if there is one.
    pub(in crate::io) fn child(&self, place: &NameInDirectory) -> io::Result<Option<Child>> {
        Ok(self.names_in(place.directory)?.get(&place.name).copied())
    }

    /// The file or directory at a path.
    ///
    /// # Errors
    /// `NotFound` if there is none; `NotADirectory` if the path leads through a file.
    pub(in crate::io) fn at(&self, path: &Path) -> io::Result<Child> {
        let (start, names) = self.split(path)?;
        names.into_iter().try_fold(Child::Directory(start), |found, name| match found {
            Child::Directory(directory) => {
                self.child(&NameInDirectory { directory, name })?.ok_or(ErrorKind::NotFound.into())
            }
            Child::File(_) => Err(ErrorKind::NotADirectory.into()),
        })
    }

    /// The directory at a path.
    pub(in crate::io) fn directory(&self, path: &Path) -> io::Result<DirectoryId> {
        match self.at(path)? {
            Child::Directory(directory) => Ok(directory),
            Child::File(_) => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// The directory of a path's last name, and that name.
    pub(in crate::io) fn place(&self, path: &Path) -> io::Result<NameInDirectory> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let directory = self.directory(parent)?;
        Ok(NameInDirectory { directory, name: name.to_string_lossy().into_owned() })
    }

    /// Returns true if a file or directory exists at a path.
    pub(in crate::io) fn exists(&self, path: &Path) -> io::Result<bool> {
        match self.at(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The names in a directory, sorted.
    pub(in crate::io) fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        let names = self.names_in(self.directory(dir)?)?.iter();
        let entry = |(name, child): (&String, &Child)| Entry {
            name: name.clone(),
            is_dir: matches!(child, Child::Directory(_)),
        };
        Ok(names.map(entry).collect())
    }

    /// The file that is opened at a path; `None` if it has to be created.
    pub(in crate::io) fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Option<FileId>> {
        match self.child(&self.place(path)?)? {
            Some(_) if mode == OpenMode::CreateNew => Err(ErrorKind::AlreadyExists.into()),
            Some(Child::File(id)) => Ok(Some(id)),
            Some(Child::Directory(_)) => Err(ErrorKind::IsADirectory.into()),
            None if matches!(mode, OpenMode::Read | OpenMode::Write) => {
                Err(ErrorKind::NotFound.into())
            }
            None => Ok(None),
        }
    }

    /// Gives a new file or directory a name.
    pub(in crate::io) fn link(
        &mut self,
        place: NameInDirectory,
        child: Child,
    ) -> io::Result<Change> {
        self.names_in_mut(place.directory)?.insert(place.name.clone(), child);
        Ok(Change::Link { place, child })
    }

    /// Moves a name; `None` if both paths are the same name.
    pub(in crate::io) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<Option<Change>> {
        let (old, new) = (self.place(from)?, self.place(to)?);
        let child = self.child(&old)?.ok_or(ErrorKind::NotFound)?;
        let replaced = self.child(&new)?;
        if old == new {
            return Ok(None);
        }
        match (child, replaced) {
            (Child::Directory(_), _) if self.is_below(to, from)? => {
                return Err(ErrorKind::InvalidInput.into());
            }
            (Child::File(_), Some(Child::Directory(_))) => {
                return Err(ErrorKind::IsADirectory.into());
            }
            (Child::Directory(_), Some(Child::File(_))) => {
                return Err(ErrorKind::NotADirectory.into());
            }
            (_, Some(Child::Directory(gone))) => self.require_empty(gone)?,
            _ => {}
        }
        self.names_in_mut(old.directory)?.remove(&old.name);
        self.names_in_mut(new.directory)?.insert(new.name.clone(), child);
        Ok(Some(Change::Move { from: old, to: new, child, replaced }))
    }

    /// Removes the name of a file.
    pub(in crate::io) fn remove_file(&mut self, path: &Path) -> io::Result<Change> {
        let place = self.place(path)?;
        match self.child(&place)? {
            Some(child @ Child::File(_)) => self.unlink(place, child),
            Some(Child::Directory(_)) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Removes the name of an empty directory.
    pub(in crate::io) fn remove_dir(&mut self, path: &Path) -> io::Result<Change> {
        let place = self.place(path)?;
        match self.child(&place)? {
            Some(child @ Child::Directory(id)) => {
                self.require_empty(id)?;
                self.unlink(place, child)
            }
            Some(Child::File(_)) => Err(ErrorKind::NotADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Creates a directory and its missing parents, and returns these changes, parents first.
    pub(in crate::io) fn create_dir(&mut self, path: &Path) -> io::Result<Vec<Change>> {
        let (mut directory, names) = self.split(path)?;
        let last = names.len();
        let mut changes = Vec::new();
        for (depth, name) in (1..).zip(names) {
            let place = NameInDirectory { directory, name };
            directory = match self.child(&place)? {
                Some(Child::Directory(found)) => found,
                Some(Child::File(_)) if depth == last => {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                Some(Child::File(_)) => return Err(ErrorKind::NotADirectory.into()),
                None => {
                    let made = self.new_directory();
                    self.set_known(made, BTreeMap::new());
                    changes.push(self.link(place, Child::Directory(made))?);
                    made
                }
            };
        }
        Ok(changes)
    }

    fn is_below(&self, path: &Path, above: &Path) -> io::Result<bool> {
        let ((start, names), (start_above, names_above)) = (self.split(path)?, self.split(above)?);
        Ok(start == start_above && names.starts_with(&names_above))
    }

    fn unlink(&mut self, place: NameInDirectory, child: Child) -> io::Result<Change> {
        self.names_in_mut(place.directory)?.remove(&place.name);
        Ok(Change::Unlink { place, child })
    }

    fn require_empty(&self, directory: DirectoryId) -> io::Result<()> {
        let is_empty = self.names_in(directory)?.is_empty();
        if is_empty { Ok(()) } else { Err(ErrorKind::DirectoryNotEmpty.into()) }
    }

    fn names_in(&self, directory: DirectoryId) -> io::Result<&BTreeMap<String, Child>> {
        let known = self.directories.get(&directory).and_then(Option::as_ref);
        known.ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn names_in_mut(&mut self, directory: DirectoryId) -> io::Result<&mut BTreeMap<String, Child>> {
        let known = self.directories.get_mut(&directory).and_then(Option::as_mut);
        known.ok_or_else(|| ErrorKind::NotFound.into())
    }
}
