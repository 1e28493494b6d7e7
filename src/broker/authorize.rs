//! Principals, and the authorization of their operations.
//!
//! A handler authorizes a client before it tells what exists, so that an unauthorized client never
//! learns that. Nothing is denied today: there is no authentication yet.

/// The identity on whose behalf a connection acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// The name as in an ACL: `User:ANONYMOUS`.
    pub(crate) name: String,
}

impl Principal {
    /// The principal of a connection that has not authenticated.
    pub(crate) fn anonymous() -> Self {
        Self { name: "User:ANONYMOUS".to_owned() }
    }
}

/// An operation, as in Kafka's ACLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Fetch records; join a group.
    Read,
    /// Produce records.
    Write,
    /// Create a topic.
    Create,
    /// Delete a topic, records or a group.
    Delete,
    /// Change partitions.
    Alter,
    /// Learn that something exists.
    Describe,
    /// Read settings.
    DescribeConfigs,
    /// Change settings.
    AlterConfigs,
    /// Use an idempotent producer.
    IdempotentWrite,
}

/// The object of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource<'a> {
    /// A topic, by name.
    Topic(&'a str),
    /// A consumer group, by id.
    Group(&'a str),
    /// The cluster as a whole.
    Cluster,
}

/// Returns true if `principal` may perform `operation` on `resource`.
pub(crate) fn authorize(
    principal: &Principal,
    operation: Operation,
    resource: Resource<'_>,
) -> bool {
    tracing::trace!(principal.name, ?operation, ?resource, "allowed");
    true
}
