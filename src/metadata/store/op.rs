//! The operations of a transaction.

use bytes::Bytes;

/// What becomes of a created node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// It stays until it is deleted.
    Persistent,
    /// It goes with the session that created it, and has no children.
    Ephemeral,
    /// It stays, and its name is the path and ten digits that rise with each such sibling.
    Sequential,
}

/// One operation of a transaction. All refer to the state left by those before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// The node must be there with this version.
    Check {
        /// Where.
        path: String,
        /// The version it must have.
        version: i32,
    },
    /// Makes a node, which must be absent.
    Create {
        /// Where; its parent must be there.
        path: String,
        /// The bytes to keep.
        value: Bytes,
        /// What becomes of it.
        mode: CreateMode,
    },
    /// Replaces the value of a node that must have this version.
    Set {
        /// Where.
        path: String,
        /// The bytes to keep.
        value: Bytes,
        /// The version it must have.
        version: i32,
    },
    /// Removes a node without children that must have this version.
    Delete {
        /// Where.
        path: String,
        /// The version it must have.
        version: i32,
    },
}

impl Op {
    /// The node must be there with this version.
    pub fn check(path: impl Into<String>, version: i32) -> Self {
        Self::Check { path: path.into(), version }
    }

    /// Makes a persistent node.
    pub fn create(path: impl Into<String>, value: impl Into<Bytes>) -> Self {
        Self::Create { path: path.into(), value: value.into(), mode: CreateMode::Persistent }
    }

    /// Makes a node that goes with this session.
    pub fn create_ephemeral(path: impl Into<String>, value: impl Into<Bytes>) -> Self {
        Self::Create { path: path.into(), value: value.into(), mode: CreateMode::Ephemeral }
    }

    /// Replaces the value of a node that must have this version.
    pub fn set(path: impl Into<String>, value: impl Into<Bytes>, version: i32) -> Self {
        Self::Set { path: path.into(), value: value.into(), version }
    }

    /// Removes a node that must have this version.
    pub fn delete(path: impl Into<String>, version: i32) -> Self {
        Self::Delete { path: path.into(), version }
    }

    /// The node it names; of a sequential one without the digits.
    pub fn path(&self) -> &str {
        match self {
            Self::Check { path, .. }
            | Self::Create { path, .. }
            | Self::Set { path, .. }
            | Self::Delete { path, .. } => path,
        }
    }

    /// Bytes it adds to a transaction, within a few.
    pub fn size(&self) -> usize {
        let value = match self {
            Self::Create { value, .. } | Self::Set { value, .. } => value.len(),
            Self::Check { .. } | Self::Delete { .. } => 0,
        };
        self.path().len() + value + 32
    }
}

/// What an operation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpResult {
    /// The check held.
    Checked,
    /// The node was made.
    Created {
        /// Where, with the digits of a sequential node.
        path: String,
        /// The transaction, which the node will remember.
        created: i64,
    },
    /// The value was replaced.
    Set {
        /// The version it has now.
        version: i32,
    },
    /// The node is gone.
    Deleted,
}
