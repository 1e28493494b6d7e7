//! Changes of names that no `sync_dir` has made durable yet, oldest first.
//!
//! A power failure keeps, for every directory, a prefix of the changes made in it. A change that
//! affects two directories (a move, the removal of a directory) is kept whole or not at all, as by
//! a journal. It therefore ties the orders of both directories together.

use std::collections::BTreeSet;

use crate::io::SeededRandom;
use crate::io::memory::{Change, Child, DirectoryId};

/// The directories in which this change must keep its place among the other changes. They include a
/// directory that is removed, because the changes that emptied it come first.
fn directories(change: &Change) -> Vec<DirectoryId> {
    let (mut directories, gone) = match change {
        Change::Link { place, .. } => (vec![place.directory], None),
        Change::Unlink { place, child } => (vec![place.directory], Some(*child)),
        Change::Move { from, to, replaced, .. } => (vec![from.directory, to.directory], *replaced),
    };
    if let Some(Child::Directory(directory)) = gone {
        directories.push(directory);
    }
    directories
}

/// The directory that a change creates.
fn made_directory(change: &Change) -> Option<DirectoryId> {
    match change {
        Change::Link { child: Child::Directory(directory), .. } => Some(*directory),
        _ => None,
    }
}

/// Returns true if a change creates, removes or moves `wanted`.
fn concerns(change: &Change, wanted: Child) -> bool {
    match change {
        Change::Link { child, .. } | Change::Unlink { child, .. } => *child == wanted,
        Change::Move { child, replaced, .. } => *child == wanted || *replaced == Some(wanted),
    }
}

#[derive(Debug)]
struct Pending {
    change: Change,
    /// True if the directory was synced before its own name was durable.
    synced: bool,
}

/// The list of pending changes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pending: Vec<Pending>,
}

impl Changes {
    pub(super) fn push(&mut self, change: Change) {
        self.pending.push(Pending { change, synced: false });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn concern(&self, child: Child) -> bool {
        self.pending.iter().any(|pending| concerns(&pending.change, child))
    }

    /// Records a sync of a directory that has no durable name yet: its changes become durable
    /// together with that name.
    pub(super) fn mark_synced(&mut self, directory: DirectoryId) {
        for pending in &mut self.pending {
            if directories(&pending.change).contains(&directory) {
                pending.synced = true;
            }
        }
    }

    /// Removes and returns all changes.
    pub(super) fn take_all(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.pending).into_iter().map(|pending| pending.change).collect()
    }

    /// Removes and returns the oldest change, and the changes that become durable with it.
    pub(super) fn take_oldest(&mut self) -> Vec<Change> {
        let wanted = (0..self.pending.len()).map(|index| index == 0).collect();
        self.take_closed(wanted)
    }

    /// Removes and returns all changes in a directory, the change that creates it, and all that
    /// must precede them.
    pub(super) fn take_of(&mut self, directory: DirectoryId) -> Vec<Change> {
        let is_wanted = |pending: &Pending| {
            directories(&pending.change).contains(&directory)
                || made_directory(&pending.change) == Some(directory)
        };
        let wanted = self.pending.iter().map(is_wanted).collect();
        self.take_closed(wanted)
    }

    fn take_closed(&mut self, mut wanted: Vec<bool>) -> Vec<Change> {
        loop {
            let before = wanted.iter().filter(|wanted| **wanted).count();
            self.add_predecessors(&mut wanted);
            self.add_synced_inside(&mut wanted);
            if wanted.iter().filter(|wanted| **wanted).count() == before {
                break;
            }
        }
        let mut wanted = wanted.into_iter();
        let taken = self.pending.extract_if(.., |_| wanted.next().unwrap_or(false));
        taken.map(|pending| pending.change).collect()
    }

    /// Adds the earlier changes in the directories of wanted changes, and those that created these
    /// directories.
    fn add_predecessors(&self, wanted: &mut [bool]) {
        let mut needed = BTreeSet::new();
        for (pending, wanted) in self.pending.iter().zip(wanted).rev() {
            let directories = directories(&pending.change);
            let makes = made_directory(&pending.change);
            *wanted |= directories.iter().any(|directory| needed.contains(directory))
                || makes.is_some_and(|directory| needed.contains(&directory));
            if *wanted {
                needed.extend(directories);
            }
        }
    }

    /// Adds the changes that were synced inside directories whose names become durable now.
    fn add_synced_inside(&self, wanted: &mut [bool]) {
        let mut made = BTreeSet::new();
        for (pending, wanted) in self.pending.iter().zip(wanted) {
            let inside = directories(&pending.change).iter().any(|within| made.contains(within));
            *wanted |= pending.synced && inside;
            if *wanted {
                made.extend(made_directory(&pending.change));
            }
        }
    }

    /// Removes and returns the changes that survive a power failure: all, none, or a prefix for
    /// every directory.
    pub(super) fn take_survivors(&mut self, random: &mut SeededRandom) -> Vec<Change> {
        // With probability 1 / `one_in` a change is lost, and with it all later changes in its
        // directories; 0 loses none.
        let one_in = [0, 1, 2, 4, 8][random.index(5)];
        let mut stopped = BTreeSet::new();
        let mut survivors = Vec::new();
        for pending in std::mem::take(&mut self.pending) {
            let directories = directories(&pending.change);
            let is_stopped = directories.iter().any(|directory| stopped.contains(directory))
                || (!pending.synced && random.chance(one_in));
            if is_stopped {
                stopped.extend(directories);
                stopped.extend(made_directory(&pending.change));
            } else {
                survivors.push(pending.change);
            }
        }
        survivors
    }
}
