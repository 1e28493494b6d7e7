//! Application of name changes to the inner disk.
//!
//! [`Changes`](super::change::Changes) decides which changes and their order: every directory that
//! a change needs has a durable name already, or gets it by an earlier change of the same list.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::change::Change;
use super::namespace::Namespace;
use super::tree::{Child, Home, Place, UNFINISHED};
use crate::io::OpenMode;

impl Namespace {
    /// Applies changes of names to the inner disk, in their order, and syncs its directories.
    pub(super) fn settle(&mut self, changes: &[Change]) -> io::Result<()> {
        let mut touched = BTreeSet::new();
        for change in changes {
            match change {
                Change::Link { place, child } => self.settle_link(place, *child)?,
                Change::Unlink { place, child } => self.settle_unlink(place, *child)?,
                Change::Move { from, to, child, replaced } => {
                    self.inner.rename(&self.path_to(from)?, &self.path_to(to)?)?;
                    if let Some(replaced) = replaced {
                        self.set_home(*replaced, None);
                    }
                    self.set_home(*child, Some(to.clone()));
                    touched.insert(from.directory);
                }
            }
            let (Change::Link { place, .. }
            | Change::Unlink { place, .. }
            | Change::Move { to: place, .. }) = change;
            touched.insert(place.directory);
        }
        for directory in touched {
            if let Some(path) = self.tree.path_of(directory) {
                self.inner.sync_dir(&path)?;
            }
        }
        self.forget_settled(changes);
        Ok(())
    }

    fn settle_link(&mut self, place: &Place, child: Child) -> io::Result<()> {
        let path = self.path_to(place)?;
        match child {
            Child::Directory(_) => self.inner.create_dir(&path)?,
            Child::File(id) => {
                // The process may end here: the name must not exist without the bytes that were
                // synced before it.
                let unfinished = path.with_file_name(format!("{}{UNFINISHED}", place.name));
                let medium = self.inner.open(&unfinished, OpenMode::Create)?;
                self.cached(id)?.move_to(medium)?;
                self.inner.rename(&unfinished, &path)?;
            }
        }
        self.set_home(child, Some(place.clone()));
        Ok(())
    }

    fn settle_unlink(&mut self, place: &Place, child: Child) -> io::Result<()> {
        let path = self.path_to(place)?;
        match child {
            Child::Directory(_) => self.inner.remove_dir(&path)?,
            Child::File(_) => self.inner.remove_file(&path)?,
        }
        self.set_home(child, None);
        Ok(())
    }

    fn path_to(&self, place: &Place) -> io::Result<PathBuf> {
        let path = self.tree.path_of_place(place);
        path.ok_or_else(|| io::Error::other("a name was to be durable before its directory"))
    }

    fn set_home(&mut self, child: Child, home: Option<Place>) {
        match child {
            Child::File(id) => {
                if let Some(node) = self.tree.files.get_mut(&id) {
                    node.home = home;
                }
            }
            Child::Directory(id) => match (self.tree.directories.get_mut(&id), home) {
                (Some(directory), Some(home)) => directory.home = Some(Home::In(home)),
                (Some(_), None) => drop(self.tree.directories.remove(&id)),
                (None, _) => {}
            },
        }
    }

    fn forget_settled(&mut self, changes: &[Change]) {
        for change in changes {
            let (Change::Link { child, .. }
            | Change::Unlink { child, .. }
            | Change::Move { child, .. }) = change;
            let replaced = match change {
                Change::Move { replaced, .. } => *replaced,
                _ => None,
            };
            for child in [Some(*child), replaced].into_iter().flatten() {
                if let Child::File(id) = child {
                    self.forget_unused(id);
                }
            }
        }
    }
}
