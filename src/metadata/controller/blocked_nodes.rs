//! Nodes at which the store refuses the controller's plan again and again.
//!
//! A plan is computed from the nodes as they were read. So a refusal means that another writer came
//! first, and the next plan is right. If the same refusal comes again, nodes that the image does
//! not show were edited by hand: a partition's state was deleted, or a node was put below a
//! topic's. The controller then leaves the refused change out, so that all others are made.

use std::collections::BTreeSet;

use crate::metadata::controller::plan::Group;
use crate::metadata::store::{Op, StoreError, parent};

/// The paths of nodes at which the store has refused the same change twice.
#[derive(Clone, Debug, Default)]
pub(in crate::metadata) struct BlockedNodes {
    paths: BTreeSet<String>,
}

impl BlockedNodes {
    /// Adds the node of a refusal that came twice, and logs it. Returns false if the node is
    /// blocked already, or the refusal names none.
    pub(in crate::metadata) fn add(&mut self, refusal: &StoreError) -> bool {
        let is_new = refusal.path().is_some_and(|path| self.paths.insert(path.to_owned()));
        if is_new {
            tracing::error!(
                "{refusal}, so the controller cannot make a change there; restore the nodes that \
                 were edited or deleted by hand"
            );
        }
        is_new
    }

    /// True if no node is blocked.
    pub(in crate::metadata) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// True if a group changes a blocked node, or creates a child of it.
    pub(in crate::metadata) fn covers(&self, group: &Group) -> bool {
        !self.paths.is_empty() && group.iter().any(|op| self.refuse(op))
    }

    fn refuse(&self, op: &Op) -> bool {
        let parent = parent(op.path()).filter(|_| matches!(op, Op::Create { .. }));
        self.paths.contains(op.path()) || parent.is_some_and(|parent| self.paths.contains(parent))
    }

    /// Removes a node that has changed, and its parent.
    pub(in crate::metadata) fn remove(&mut self, path: &str) {
        if !self.paths.is_empty() {
            self.paths.remove(path);
            self.paths.remove(parent(path).unwrap_or(path));
        }
    }
}
