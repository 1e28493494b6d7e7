//! The operations of a transaction.

use bytes::Bytes;

/// The lifetime and naming of a created node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// The node exists until it is deleted.
    Persistent,
    /// The node is removed with the session that created it, and cannot have children.
    Ephemeral,
    /// The node is persistent, and ten rising digits are appended to its path.
    Sequential,
}

/// An operation of a transaction. Each applies to the state left by the operations before it. A
/// version below zero matches no node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Checks that the node exists with this version.
    Check {
        /// The path of the node.
        path: String,
        /// The required version.
        version: i32,
    },
    /// Creates a node, which must not exist.
    Create {
        /// The path of the node; its parent must exist.
        path: String,
        /// The value of the node.
        value: Bytes,
        /// The lifetime and naming of the node.
        mode: CreateMode,
    },
    /// Replaces the value of a node that must have this version.
    Set {
        /// The path of the node.
        path: String,
        /// The new value.
        value: Bytes,
        /// The required version.
        version: i32,
    },
    /// Removes a node without children that must have this version.
    Delete {
        /// The path of the node.
        path: String,
        /// The required version.
        version: i32,
    },
}

impl Op {
    /// Checks that the node exists with this version.
    pub fn check(path: impl Into<String>, version: i32) -> Self {
        Self::Check { path: path.into(), version }
    }

    /// Creates a persistent node.
    pub fn create(path: impl Into<String>, value: impl Into<Bytes>) -> Self {
        Self::Create { path: path.into(), value: value.into(), mode: CreateMode::Persistent }
    }

    /// Creates a node that is removed with this session.
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

    /// The path of the node; for a sequential node, without the digits.
    pub fn path(&self) -> &str {
        match self {
            Self::Check { path, .. }
            | Self::Create { path, .. }
            | Self::Set { path, .. }
            | Self::Delete { path, .. } => path,
        }
    }

    /// The version that the node must have; `None` for a node to create.
    pub fn version(&self) -> Option<i32> {
        match self {
            Self::Check { version, .. }
            | Self::Set { version, .. }
            | Self::Delete { version, .. } => Some(*version),
            Self::Create { .. } => None,
        }
    }

    /// The approximate number of bytes that the operation adds to a transaction.
    pub fn size(&self) -> usize {
        let value = match self {
            Self::Create { value, .. } | Self::Set { value, .. } => value.len(),
            Self::Check { .. } | Self::Delete { .. } => 0,
        };
        self.path().len() + value + 32
    }
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpResult {
    /// The check held.
    Checked,
    /// The node was created.
    Created {
        /// The path, with the digits of a sequential node.
        path: String,
        /// The transaction that created the node.
        created: i64,
    },
    /// The value was replaced.
    Set {
        /// The new version.
        version: i32,
    },
    /// The node was deleted.
    Deleted,
}

impl OpResult {
    /// The version of a node that was created or set.
    pub(in crate::metadata) fn version_after(&self) -> i32 {
        match self {
            Self::Set { version } => *version,
            _ => 0,
        }
    }
}
