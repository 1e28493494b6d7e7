//! The links between machines: what is sent over them takes a while, and is lost while they are
//! cut, in one direction or both.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A machine of the cluster.
    Machine(usize),
    /// The machine of all clients, whose links are never cut.
    Clients,
}

/// The links that are cut.
#[derive(Debug, Default)]
pub(crate) struct Network {
    cut: Mutex<BTreeSet<(Place, Place)>>,
}

impl Network {
    /// Cuts the link in this direction.
    pub(crate) fn cut(&self, from: usize, to: usize) {
        self.lock().insert((Place::Machine(from), Place::Machine(to)));
    }

    /// Repairs all links of a machine.
    pub(crate) fn repair(&self, machine: usize) {
        let end = Place::Machine(machine);
        self.lock().retain(|(from, to)| *from != end && *to != end);
    }

    /// True if nothing arrives over the link in this direction.
    pub(crate) fn is_cut(&self, from: Place, to: Place) -> bool {
        self.lock().contains(&(from, to))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(Place, Place)>> {
        self.cut.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
