//! The names and the files or directories behind them: a map by whole path, in which the parent of
//! every path is a directory.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use super::file::MemoryFile;
use crate::io::{Entry, OpenMode};

/// The file or directory that a name refers to.
#[derive(Debug)]
pub(super) enum Node {
    File(MemoryFile),
    /// A directory, by its number.
    Directory(u64),
}

/// All names. The root always exists; relative paths begin at it too.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<PathBuf, Node>,
    /// The number of files and directories ever created.
    made: u64,
}

impl Default for Tree {
    fn default() -> Self {
        Self { nodes: BTreeMap::from([(PathBuf::from("/"), Node::Directory(0))]), made: 0 }
    }
}

impl Tree {
    pub(super) fn open(&mut self, path: &Path, mode: OpenMode) -> io::Result<MemoryFile> {
        let path = absolute(path);
        let writable = mode != OpenMode::Read;
        match self.nodes.get(&path) {
            Some(_) if mode == OpenMode::CreateNew => Err(ErrorKind::AlreadyExists.into()),
            Some(Node::File(file)) => Ok(file.reopen(writable)),
            Some(Node::Directory(_)) => Err(ErrorKind::IsADirectory.into()),
            None if matches!(mode, OpenMode::Read | OpenMode::Write) => {
                Err(ErrorKind::NotFound.into())
            }
            None => {
                self.require_parent(&path)?;
                self.made += 1;
                let file = MemoryFile::empty(self.made);
                self.nodes.insert(path, Node::File(file.clone()));
                Ok(file)
            }
        }
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (absolute(from), absolute(to));
        self.require_parent(&from)?;
        self.require_parent(&to)?;
        let is_dir = matches!(self.require(&from)?, Node::Directory(_));
        if from == to {
            return Ok(());
        }
        if is_dir && to.starts_with(&from) {
            return Err(ErrorKind::InvalidInput.into());
        }
        match (is_dir, self.nodes.get(&to)) {
            (false, Some(Node::Directory(_))) => return Err(ErrorKind::IsADirectory.into()),
            (true, Some(Node::File(_))) => return Err(ErrorKind::NotADirectory.into()),
            (true, Some(Node::Directory(_))) if self.has_children(&to) => {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
            _ => {}
        }
        let moved: Vec<PathBuf> =
            self.nodes.keys().filter(|path| path.starts_with(&from)).cloned().collect();
        for path in moved {
            let target = match path.strip_prefix(&from) {
                Ok(rest) if !rest.as_os_str().is_empty() => to.join(rest),
                _ => to.clone(),
            };
            if let Some(node) = self.nodes.remove(&path) {
                self.nodes.insert(target, node);
            }
        }
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        let path = absolute(path);
        match self.require(&path)? {
            Node::Directory(_) => Err(ErrorKind::IsADirectory.into()),
            Node::File(_) => {
                self.nodes.remove(&path);
                Ok(())
            }
        }
    }

    pub(super) fn create_dir(&mut self, path: &Path) -> io::Result<()> {
        let path = absolute(path);
        let parents: Vec<&Path> = path.ancestors().collect();
        for dir in parents.into_iter().rev() {
            match self.nodes.get(dir) {
                Some(Node::Directory(_)) => {}
                Some(Node::File(_)) if dir == path => return Err(ErrorKind::AlreadyExists.into()),
                Some(Node::File(_)) => return Err(ErrorKind::NotADirectory.into()),
                None => {
                    self.made += 1;
                    self.nodes.insert(dir.to_owned(), Node::Directory(self.made));
                }
            }
        }
        Ok(())
    }

    pub(super) fn remove_dir(&mut self, path: &Path) -> io::Result<()> {
        let path = absolute(path);
        self.require_dir(&path)?;
        if self.has_children(&path) {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        self.nodes.remove(&path);
        Ok(())
    }

    pub(super) fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        let dir = absolute(dir);
        self.require_dir(&dir)?;
        let mut entries: Vec<Entry> = self
            .nodes
            .iter()
            .filter(|(path, _)| path.parent() == Some(&dir))
            .filter_map(|(path, node)| {
                let name = path.file_name()?.to_string_lossy().into_owned();
                Some(Entry { name, is_dir: matches!(node, Node::Directory(_)) })
            })
            .collect();
        entries.sort();
        Ok(entries)
    }

    pub(super) fn exists(&self, path: &Path) -> io::Result<bool> {
        match self.require(&absolute(path)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The number of a file or directory.
    pub(super) fn number(&self, path: &Path) -> io::Result<u64> {
        Ok(match self.require(&absolute(path))? {
            Node::File(file) => file.number(),
            Node::Directory(number) => *number,
        })
    }

    /// Fails unless `dir` is a directory.
    pub(super) fn require_dir(&self, dir: &Path) -> io::Result<()> {
        match self.require(&absolute(dir))? {
            Node::Directory(_) => Ok(()),
            Node::File(_) => Err(ErrorKind::NotADirectory.into()),
        }
    }

    fn require(&self, path: &Path) -> io::Result<&Node> {
        if let Some(node) = self.nodes.get(path) {
            return Ok(node);
        }
        let above = path.ancestors().find_map(|parent| self.nodes.get(parent));
        match above {
            Some(Node::File(_)) => Err(ErrorKind::NotADirectory.into()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }

    fn require_parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) => self.require_dir(parent),
            None => Err(ErrorKind::AlreadyExists.into()),
        }
    }

    fn has_children(&self, dir: &Path) -> bool {
        self.nodes.keys().any(|path| path.parent() == Some(dir))
    }
}

/// The path from the root, so that `a`, `./a` and `/a` are the same name.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let names = path.components().filter(|part| !matches!(part, Component::CurDir));
    Path::new("/").join(names.collect::<PathBuf>())
}
