//! Who asks, and whether they may.
//!
//! Every handler asks before it looks whether anything exists, so that an answer never tells a
//! stranger what there is. Nobody is refused today: there is no way to log in yet.

/// Who a connection acts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// As in an ACL: `User:ANONYMOUS`.
    pub(crate) name: String,
}

impl Principal {
    /// Somebody who has not logged in.
    pub(crate) fn anonymous() -> Self {
        Self { name: "User:ANONYMOUS".to_owned() }
    }
}

/// What somebody wants to do, in Kafka's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Fetch records; join a group.
    Read,
    /// Produce records.
    Write,
    /// Make a topic.
    Create,
    /// Remove a topic, records or a group.
    Delete,
    /// Change partitions.
    Alter,
    /// See that something exists.
    Describe,
    /// See settings.
    DescribeConfigs,
    /// Change settings.
    AlterConfigs,
    /// Use an idempotent producer.
    IdempotentWrite,
}

/// What it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource<'a> {
    /// A topic, by name.
    Topic(&'a str),
    /// A consumer group, by id.
    Group(&'a str),
    /// The cluster as a whole.
    Cluster,
}

/// Whether `principal` may do `operation` to `resource`.
pub(crate) fn authorize(
    principal: &Principal,
    operation: Operation,
    resource: Resource<'_>,
) -> bool {
    tracing::trace!(principal.name, ?operation, ?resource, "allowed");
    true
}
