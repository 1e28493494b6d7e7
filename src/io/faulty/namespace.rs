//! All names and files of a disk, live and durable: the kernel's view over the inner disk.
//!
//! Every change of names is visible at once, and waits in [`Changes`] until its directory is
//! synced; only then is it applied to the inner disk. The synced bytes of a file whose name is not
//! durable are kept in memory.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use super::change::{Change, Changes};
use super::page_cache::CachedFile;
use super::tree::{Child, FileId, FileNode, NameInDirectory, Tree};
use crate::io::{DirLock, Disk, Entry, Inode, MemoryDisk, OpenMode, SeededRandom};

/// The live view over the inner disk.
#[derive(Debug)]
pub(super) struct Namespace {
    pub(super) inner: Arc<dyn Disk>,
    pub(super) tree: Tree,
    pub(super) changes: Changes,
}

impl Namespace {
    /// The view after a start of the machine: exactly the inner disk's content.
    pub(super) fn new(inner: Arc<dyn Disk>) -> Self {
        Self { inner, tree: Tree::new(), changes: Changes::default() }
    }

    /// Opens a file and counts one more handle on it.
    pub(super) fn open(&mut self, path: &Path, mode: OpenMode) -> io::Result<FileId> {
        let place = self.tree.place(&*self.inner, path)?;
        let id = match self.tree.child(&*self.inner, &place)? {
            Some(_) if mode == OpenMode::CreateNew => return Err(ErrorKind::AlreadyExists.into()),
            Some(Child::File(id)) => id,
            Some(Child::Directory(_)) => return Err(ErrorKind::IsADirectory.into()),
            None if matches!(mode, OpenMode::Read | OpenMode::Write) => {
                return Err(ErrorKind::NotFound.into());
            }
            None => self.create_file(place)?,
        };
        self.cached(id)?;
        self.node(id)?.handles += 1;
        Ok(id)
    }

    fn create_file(&mut self, place: NameInDirectory) -> io::Result<FileId> {
        // Until the name is durable, the bytes are on a medium that nothing can find after a crash.
        let medium = MemoryDisk::default().open(Path::new("/unnamed"), OpenMode::CreateNew)?;
        let cached = CachedFile::over(medium)?;
        let id = self.tree.add_file(FileNode {
            cached: Some(cached),
            is_named: true,
            ..FileNode::default()
        });
        self.link(place, Child::File(id))?;
        Ok(id)
    }

    fn link(&mut self, place: NameInDirectory, child: Child) -> io::Result<()> {
        self.tree.children(&*self.inner, place.directory)?.insert(place.name.clone(), child);
        self.changes.push(Change::Link { place, child });
        Ok(())
    }

    fn node(&mut self, id: FileId) -> io::Result<&mut FileNode> {
        self.tree.files.get_mut(&id).ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// The bytes of a file, opened on the inner disk if it is not cached yet.
    pub(super) fn cached(&mut self, id: FileId) -> io::Result<&mut CachedFile> {
        let node = self.tree.files.get(&id).ok_or(ErrorKind::NotFound)?;
        let opened = match (&node.cached, &node.durable_name) {
            (Some(_), _) => None,
            (None, Some(durable_name)) => {
                let path = self.tree.path_of_name(durable_name).ok_or(ErrorKind::NotFound)?;
                let medium = match self.inner.open(&path, OpenMode::Write) {
                    Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                        self.inner.open(&path, OpenMode::Read)?
                    }
                    result => result?,
                };
                Some(CachedFile::over(medium)?)
            }
            (None, None) => return Err(ErrorKind::NotFound.into()),
        };
        let node = self.node(id)?;
        if opened.is_some() {
            node.cached = opened;
        }
        node.cached.as_mut().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// The file at a path, without counting a handle.
    pub(super) fn file(&mut self, path: &Path) -> io::Result<&mut CachedFile> {
        let place = self.tree.place(&*self.inner, path)?;
        match self.tree.child(&*self.inner, &place)? {
            Some(Child::File(id)) => self.cached(id),
            Some(Child::Directory(_)) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Counts one handle less.
    pub(super) fn close(&mut self, id: FileId) {
        if let Some(node) = self.tree.files.get_mut(&id) {
            node.handles = node.handles.saturating_sub(1);
        }
        self.forget_unused(id);
    }

    /// Drops a file that nothing can reach any more, above all its descriptor on the inner disk.
    pub(super) fn forget_unused(&mut self, id: FileId) {
        let Some(node) = self.tree.files.get_mut(&id) else { return };
        if node.handles > 0 {
            return;
        }
        if node.durable_name.is_some() {
            let is_clean = node.cached.as_ref().map(CachedFile::is_clean);
            if matches!(is_clean, Some(Ok(true))) {
                node.cached = None;
            }
        } else if !node.is_named && !self.changes.concern(Child::File(id)) {
            self.tree.files.remove(&id);
        }
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let inner = &*self.inner;
        let (old, new) = (self.tree.place(inner, from)?, self.tree.place(inner, to)?);
        let child = self.tree.child(inner, &old)?.ok_or(ErrorKind::NotFound)?;
        let replaced = self.tree.child(inner, &new)?;
        if old == new {
            return Ok(());
        }
        match (child, replaced) {
            (Child::Directory(_), _) if to.starts_with(from) => {
                return Err(ErrorKind::InvalidInput.into());
            }
            (Child::File(_), Some(Child::Directory(_))) => {
                return Err(ErrorKind::IsADirectory.into());
            }
            (Child::Directory(_), Some(Child::File(_))) => {
                return Err(ErrorKind::NotADirectory.into());
            }
            (_, Some(Child::Directory(gone))) if !self.tree.children(inner, gone)?.is_empty() => {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
            _ => {}
        }
        if let Some(Child::File(id)) = replaced {
            self.node(id)?.is_named = false;
        }
        self.tree.children(&*self.inner, old.directory)?.remove(&old.name);
        self.tree.children(&*self.inner, new.directory)?.insert(new.name.clone(), child);
        self.changes.push(Change::Move { from: old, to: new, child, replaced });
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        let place = self.tree.place(&*self.inner, path)?;
        match self.tree.child(&*self.inner, &place)? {
            Some(Child::File(id)) => {
                self.node(id)?.is_named = false;
                self.unlink(place, Child::File(id))
            }
            Some(Child::Directory(_)) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn remove_dir(&mut self, path: &Path) -> io::Result<()> {
        let place = self.tree.place(&*self.inner, path)?;
        match self.tree.child(&*self.inner, &place)? {
            Some(Child::Directory(id)) if self.tree.children(&*self.inner, id)?.is_empty() => {
                self.unlink(place, Child::Directory(id))
            }
            Some(Child::Directory(_)) => Err(ErrorKind::DirectoryNotEmpty.into()),
            Some(Child::File(_)) => Err(ErrorKind::NotADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    fn unlink(&mut self, place: NameInDirectory, child: Child) -> io::Result<()> {
        self.tree.children(&*self.inner, place.directory)?.remove(&place.name);
        self.changes.push(Change::Unlink { place, child });
        Ok(())
    }

    pub(super) fn create_dir(&mut self, path: &Path) -> io::Result<()> {
        let (mut directory, names) = Tree::names(path)?;
        let last = names.len();
        for (depth, name) in names.into_iter().enumerate() {
            let place = NameInDirectory { directory, name };
            directory = match self.tree.child(&*self.inner, &place)? {
                Some(Child::Directory(found)) => found,
                Some(Child::File(_)) if depth + 1 == last => {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                Some(Child::File(_)) => return Err(ErrorKind::NotADirectory.into()),
                None => {
                    let made = self.tree.add_directory();
                    self.link(place, Child::Directory(made))?;
                    made
                }
            };
        }
        Ok(())
    }

    pub(super) fn list(&mut self, path: &Path) -> io::Result<Vec<Entry>> {
        let directory = self.tree.directory(&*self.inner, path)?;
        let children = self.tree.children(&*self.inner, directory)?;
        let entry = |(name, child): (&String, &Child)| Entry {
            name: name.clone(),
            is_dir: matches!(child, Child::Directory(_)),
        };
        Ok(children.iter().map(entry).collect())
    }

    pub(super) fn exists(&mut self, path: &Path) -> io::Result<bool> {
        if Tree::names(path)?.1.is_empty() {
            return Ok(true);
        }
        match self.tree.place(&*self.inner, path) {
            Ok(place) => Ok(self.tree.child(&*self.inner, &place)?.is_some()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The identity of the file or directory at a path.
    pub(super) fn inode(&mut self, path: &Path) -> io::Result<Inode> {
        let (root, names) = Tree::names(path)?;
        if names.is_empty() {
            return Ok(root.inode());
        }
        let place = self.tree.place(&*self.inner, path)?;
        match self.tree.child(&*self.inner, &place)? {
            Some(Child::File(id)) => Ok(id.inode()),
            Some(Child::Directory(id)) => Ok(id.inode()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Makes the changes in a directory durable, if the directory's own name is; otherwise they
    /// wait for it.
    pub(super) fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        let directory = self.tree.directory(&*self.inner, path)?;
        if self.tree.path_of(directory).is_none() {
            self.changes.mark_synced(directory);
            return Ok(());
        }
        let changes = self.changes.take_of(directory);
        self.apply(&changes)
    }

    /// Makes everything durable.
    pub(super) fn sync_all(&mut self, random: &mut SeededRandom) -> io::Result<()> {
        let changes = self.changes.take_all();
        self.apply(&changes)?;
        for node in self.tree.files.values_mut() {
            if let Some(cached) = &mut node.cached {
                cached.sync(random)?;
            }
        }
        Ok(())
    }

    /// Simulates a failed sync of the whole file system.
    pub(super) fn lose_dirty_pages(&mut self) {
        for node in self.tree.files.values_mut() {
            if let Some(cached) = &mut node.cached {
                cached.lose_dirty_pages();
            }
        }
    }

    /// Simulates the kernel's background write-back: writes a dirty page to the medium, or makes
    /// the oldest change of a name durable.
    pub(super) fn write_back(&mut self, random: &mut SeededRandom) -> io::Result<()> {
        let has_dirty =
            |node: &&mut FileNode| node.cached.as_ref().is_some_and(CachedFile::has_dirty_pages);
        let mut dirty: Vec<&mut FileNode> =
            self.tree.files.values_mut().filter(has_dirty).collect();
        let chosen = random.index(dirty.len() + usize::from(!self.changes.is_empty()));
        if let Some(cached) = dirty.get_mut(chosen).and_then(|node| node.cached.as_mut()) {
            return cached.write_back(random);
        }
        let changes = self.changes.take_oldest();
        self.apply(&changes)
    }

    /// Takes the inner disk's lock on the directory of `file`, after making that directory durable.
    pub(super) fn lock(&mut self, file: &Path, owner: &str) -> io::Result<(Inode, DirLock)> {
        let place = self.tree.place(&*self.inner, file)?;
        let changes = self.changes.take_of(place.directory);
        self.apply(&changes)?;
        let dir = self.tree.path_of(place.directory).ok_or(ErrorKind::NotFound)?;
        let guard = self.inner.lock(&dir, &dir.join(&place.name), owner)?;
        let inode = place.directory.inode();
        if self.tree.child(&*self.inner, &place)?.is_none() {
            let node = FileNode {
                durable_name: Some(place.clone()),
                is_named: true,
                ..FileNode::default()
            };
            let child = Child::File(self.tree.add_file(node));
            self.tree.children(&*self.inner, place.directory)?.insert(place.name, child);
        }
        Ok((inode, guard))
    }

    /// Simulates a power failure: some pending changes reach the inner disk, the rest are lost.
    pub(super) fn lose_power(mut self, random: &mut SeededRandom) -> io::Result<()> {
        let survivors = self.changes.take_survivors(random);
        self.apply(&survivors)?;
        for node in self.tree.files.into_values() {
            if let (Some(cached), Some(_)) = (node.cached, node.durable_name) {
                cached.lose_power(random)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_and_removed_files_leave_nothing_in_the_cache() {
        let mut names = Namespace::new(Arc::new(MemoryDisk::default()));
        let mut random = SeededRandom::new(1);
        let path = Path::new("/a");
        let id = names.open(path, OpenMode::Create).unwrap();
        names.cached(id).unwrap().write(b"abc", 0).unwrap();
        names.close(id);
        assert!(names.tree.files[&id].cached.is_some(), "it is the only place that has the bytes");

        names.sync_all(&mut random).unwrap();
        let again = names.open(path, OpenMode::Read).unwrap();
        names.close(again);
        assert_eq!(again, id);
        assert!(names.tree.files[&id].cached.is_none());

        let other = names.open(Path::new("/b"), OpenMode::Create).unwrap();
        names.close(other);
        names.sync_all(&mut random).unwrap();
        names.rename(Path::new("/b"), path).unwrap();
        names.sync_dir(Path::new("/")).unwrap();
        assert_eq!(names.tree.files.keys().collect::<Vec<_>>(), [&other]);

        names.remove_file(path).unwrap();
        names.sync_dir(Path::new("/")).unwrap();
        assert!(names.tree.files.is_empty());
    }
}
