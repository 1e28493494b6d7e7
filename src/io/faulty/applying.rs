//! Application of name changes to the inner disk.
//!
//! [`Changes`](super::change::Changes) chooses the changes and their order. The directory of each
//! change has a durable name already, or gets one from an earlier change of the same list.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::namespace::Namespace;
use super::tree::{DurableName, UNFINISHED};
use crate::io::OpenMode;
use crate::io::memory::{Change, Child, NameInDirectory};

impl Namespace {
    /// Applies changes of names to the inner disk, in their order, and syncs its directories.
    pub(super) fn apply(&mut self, changes: &[Change]) -> io::Result<()> {
        let mut touched = BTreeSet::new();
        for change in changes {
            match change {
                Change::Link { place, child } => self.apply_link(place, *child)?,
                Change::Unlink { place, child } => self.apply_unlink(place, *child)?,
                Change::Move { from, to, child, replaced } => {
                    self.inner.rename(&self.path_to(from)?, &self.path_to(to)?)?;
                    if let Some(replaced) = replaced {
                        self.set_durable_name(*replaced, None);
                    }
                    self.set_durable_name(*child, Some(to.clone()));
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
        self.forget_applied(changes);
        Ok(())
    }

    fn apply_link(&mut self, place: &NameInDirectory, child: Child) -> io::Result<()> {
        let path = self.path_to(place)?;
        match child {
            Child::Directory(_) => self.inner.create_dir(&path)?,
            Child::File(id) => {
                // Write the bytes under a temporary name first. If the process ends in between, the
                // inner disk does not have the name without the bytes that were synced.
                let unfinished = path.with_file_name(format!("{}{UNFINISHED}", place.name));
                let medium = self.inner.open(&unfinished, OpenMode::Create)?;
                self.cached(id)?.move_to(medium)?;
                self.inner.rename(&unfinished, &path)?;
            }
        }
        self.set_durable_name(child, Some(place.clone()));
        Ok(())
    }

    fn apply_unlink(&mut self, place: &NameInDirectory, child: Child) -> io::Result<()> {
        let path = self.path_to(place)?;
        match child {
            Child::Directory(_) => self.inner.remove_dir(&path)?,
            Child::File(_) => self.inner.remove_file(&path)?,
        }
        self.set_durable_name(child, None);
        Ok(())
    }

    fn path_to(&self, place: &NameInDirectory) -> io::Result<PathBuf> {
        let path = self.tree.path_of_name(place);
        path.ok_or_else(|| io::Error::other("a name was to be durable before its directory"))
    }

    fn set_durable_name(&mut self, child: Child, durable_name: Option<NameInDirectory>) {
        match child {
            Child::File(id) => {
                if let Some(node) = self.tree.files.get_mut(&id) {
                    node.durable_name = durable_name;
                }
            }
            Child::Directory(id) => {
                if let Some(name) = durable_name {
                    self.tree.durable.insert(id, DurableName::In(name));
                } else {
                    self.tree.durable.remove(&id);
                    self.tree.names.forget(id);
                }
            }
        }
    }

    fn forget_applied(&mut self, changes: &[Change]) {
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
