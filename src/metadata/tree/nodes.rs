//! The nodes in memory, and the effect of transactions on them.
//!
//! Planning and applying are separate: [`Tree::plan`] checks each operation against the tree and
//! the operations before it, and returns the changes. Only [`Tree::apply`] changes the tree.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;

use crate::metadata::store::{
    CreateMode, Node, Op, OpResult, SessionId, StoreError, children_prefix, parent, validate_path,
};

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::metadata) struct Entry {
    pub(in crate::metadata) value: Arc<[u8]>,
    pub(in crate::metadata) version: i32,
    pub(in crate::metadata) created: i64,
    /// The session that owns the node, if it is ephemeral.
    pub(in crate::metadata) owner: Option<SessionId>,
    /// The number of the node's next sequential child.
    pub(in crate::metadata) next_sequence: u32,
}

impl Entry {
    /// A newly created node.
    pub(in crate::metadata) fn new(
        value: Arc<[u8]>,
        created: i64,
        owner: Option<SessionId>,
    ) -> Self {
        Self { value, version: 0, created, owner, next_sequence: 0 }
    }
}

/// The effect of a transaction on one node; a transaction is journaled as a list of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::metadata) enum Change {
    Put(String, Entry),
    Remove(String),
}

impl Change {
    pub(in crate::metadata) fn path(&self) -> &str {
        match self {
            Self::Put(path, _) | Self::Remove(path) => path,
        }
    }
}

/// Nodes by path. The root always exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::metadata) struct Tree {
    nodes: BTreeMap<Box<str>, Entry>,
    /// The last transaction applied.
    pub(in crate::metadata) last_txn: i64,
}

impl Tree {
    pub(in crate::metadata) fn new() -> Self {
        let root = Entry::new(Arc::default(), 0, None);
        Self { nodes: BTreeMap::from([("/".into(), root)]), last_txn: 0 }
    }

    pub(in crate::metadata) fn get(&self, path: &str) -> Option<Node> {
        self.nodes.get(path).map(node)
    }

    pub(in crate::metadata) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.nodes.iter().map(|(path, entry)| (&**path, entry))
    }

    pub(in crate::metadata) fn children(&self, path: &str) -> Vec<String> {
        let prefix = children_prefix(path);
        let names = self.below(&prefix).map(|(child, _)| &child[prefix.len()..]);
        names.filter(|name| !name.is_empty() && !name.contains('/')).map(str::to_owned).collect()
    }

    pub(in crate::metadata) fn snapshot(&self, path: &str) -> Vec<(String, Node)> {
        let prefix = children_prefix(path);
        let itself = self.nodes.get(path).filter(|_| prefix != path);
        let all = itself.map(|entry| (path, entry)).into_iter().chain(self.below(&prefix));
        all.map(|(path, entry)| (path.to_owned(), node(entry))).collect()
    }

    /// The changes that `ops` of a session would make as transaction `txn`, and their results.
    pub(in crate::metadata) fn plan(
        &self,
        ops: Vec<Op>,
        txn: i64,
        session: SessionId,
    ) -> Result<(Vec<Change>, Vec<OpResult>), StoreError> {
        let values = SharedValues::default();
        let mut plan = Plan { tree: self, touched: BTreeMap::new(), values, txn, session };
        let results = ops.into_iter().map(|op| plan.execute(op)).collect::<Result<_, _>>()?;
        let changes = plan.touched.into_iter().map(|(path, entry)| match entry {
            Some(entry) => Change::Put(path, entry),
            None => Change::Remove(path),
        });
        Ok((changes.collect(), results))
    }

    pub(in crate::metadata) fn apply(&mut self, txn: i64, changes: Vec<Change>) {
        assert!(txn >= self.last_txn, "transaction {txn} comes after {}", self.last_txn);
        self.last_txn = txn;
        for change in changes {
            match change {
                Change::Put(path, entry) => drop(self.nodes.insert(path.into(), entry)),
                Change::Remove(path) => drop(self.nodes.remove(&*path)),
            }
        }
    }

    /// The changes that end a session: its ephemeral nodes are removed.
    pub(in crate::metadata) fn removals_of(&self, session: SessionId) -> Vec<Change> {
        let owned = self.nodes.iter().filter(|(_, entry)| entry.owner == Some(session));
        owned.map(|(path, _)| Change::Remove(path.to_string())).collect()
    }

    pub(in crate::metadata) fn drop_ephemerals(&mut self) {
        self.nodes.retain(|_, entry| entry.owner.is_none());
    }

    /// Removes the nodes without a parent.
    pub(in crate::metadata) fn remove_orphans(&mut self) {
        // Paths are sorted, so a parent comes before its children.
        for (path, entry) in std::mem::take(&mut self.nodes) {
            if parent(&path).is_none_or(|parent| self.nodes.contains_key(parent)) {
                self.nodes.insert(path, entry);
            }
        }
    }

    fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let nodes = self.nodes.range::<str, _>(from).map(|(path, entry)| (&**path, entry));
        nodes.take_while(move |(path, _)| path.starts_with(prefix))
    }
}

fn node(entry: &Entry) -> Node {
    let value = Bytes::copy_from_slice(&entry.value);
    Node { value, version: entry.version, created: entry.created, owner: entry.owner }
}

/// The tree as changed by the operations so far.
struct Plan<'a> {
    tree: &'a Tree,
    /// Nodes written (`Some`) or removed (`None`) by this transaction.
    touched: BTreeMap<String, Option<Entry>>,
    values: SharedValues,
    txn: i64,
    session: SessionId,
}

impl Plan<'_> {
    fn execute(&mut self, op: Op) -> Result<OpResult, StoreError> {
        validate_path(op.path())?;
        match op {
            Op::Check { path, version } => {
                self.at_version(&path, version)?;
                Ok(OpResult::Checked)
            }
            Op::Create { path, value, mode } => self.create(path, &value, mode),
            Op::Set { path, value, version } => {
                let found = self.at_version(&path, version)?;
                let version = version.checked_add(1).unwrap_or(0);
                let found = found.clone();
                let entry = Entry { value: self.values.share(&value), version, ..found };
                self.touched.insert(path, Some(entry));
                Ok(OpResult::Set { version })
            }
            Op::Delete { path, version } => {
                self.at_version(&path, version)?;
                if path == "/" || self.has_children(&path) {
                    return Err(StoreError::NotEmpty { path });
                }
                self.touched.insert(path, None);
                Ok(OpResult::Deleted)
            }
        }
    }

    fn create(
        &mut self,
        path: String,
        value: &[u8],
        mode: CreateMode,
    ) -> Result<OpResult, StoreError> {
        let Some(parent_path) = parent(&path) else {
            return Err(StoreError::NodeExists { path });
        };
        let Some(parent) = self.get(parent_path) else {
            return Err(StoreError::NoNode { path: parent_path.to_owned() });
        };
        if parent.owner.is_some() {
            return Err(StoreError::InvalidPath { path, reason: "its parent is ephemeral" });
        }
        let path = if mode == CreateMode::Sequential {
            let mut parent = parent.clone();
            let numbered = format!("{path}{:010}", parent.next_sequence);
            parent.next_sequence = parent.next_sequence.wrapping_add(1);
            self.touched.insert(parent_path.to_owned(), Some(parent));
            numbered
        } else {
            path
        };
        if self.get(&path).is_some() {
            return Err(StoreError::NodeExists { path });
        }
        let owner = (mode == CreateMode::Ephemeral).then_some(self.session);
        let entry = Entry::new(self.values.share(value), self.txn, owner);
        self.touched.insert(path.clone(), Some(entry));
        Ok(OpResult::Created { path, created: self.txn })
    }

    fn get(&self, path: &str) -> Option<&Entry> {
        match self.touched.get(path) {
            Some(entry) => entry.as_ref(),
            None => self.tree.nodes.get(path),
        }
    }

    fn at_version(&self, path: &str, expected: i32) -> Result<&Entry, StoreError> {
        match self.get(path) {
            None => Err(StoreError::NoNode { path: path.to_owned() }),
            Some(entry) if entry.version == expected => Ok(entry),
            Some(Entry { version: found, .. }) => {
                Err(StoreError::BadVersion { path: path.to_owned(), expected, found: *found })
            }
        }
    }

    fn has_children(&self, path: &str) -> bool {
        let prefix = children_prefix(path);
        let kept = |(path, _): (&str, _)| !self.touched.contains_key(path);
        let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        let mut touched = self.touched.range::<str, _>(from);
        self.tree.below(&prefix).any(kept)
            || touched
                .by_ref()
                .take_while(|(p, _)| p.starts_with(&prefix))
                .any(|(_, e)| e.is_some())
    }
}

/// Shares a value with the previous one if they are equal: most partitions of a topic are in the
/// same state, and a value stays in memory as long as its node.
#[derive(Debug, Default)]
pub(in crate::metadata) struct SharedValues {
    nothing: Arc<[u8]>,
    last: Arc<[u8]>,
}

impl SharedValues {
    /// A value with these bytes: the previous value if it is equal.
    pub(in crate::metadata) fn share(&mut self, value: &[u8]) -> Arc<[u8]> {
        if value.is_empty() {
            // Directory nodes, which are empty, come between the states of partitions.
            return Arc::clone(&self.nothing);
        }
        if *self.last != *value {
            self.last = value.into();
        }
        Arc::clone(&self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_in_a_row_are_one_whatever_is_empty_between_them() {
        let mut values = SharedValues::default();
        let first = values.share(b"state");
        assert!(values.share(b"").is_empty());
        assert!(Arc::ptr_eq(&values.share(b"state"), &first));
        let other = values.share(b"other");
        assert_eq!((&first[..], &other[..]), (&b"state"[..], &b"other"[..]));
    }
}
