//! Why a group refuses. Each case without a cause inside is one error code of Kafka's protocol.

use crate::group::{Generation, MemberId};

/// Why the coordinator refused a request as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// This coordinator cannot serve the group at the moment.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// `INVALID_GROUP_ID`: empty, or longer than 255 bytes.
    #[error("a group id has 1 to 255 bytes, not {0}")]
    InvalidGroupId(usize),
    /// `UNKNOWN_MEMBER_ID`: the group has no such member; the client joins anew.
    #[error("the group has no such member")]
    UnknownMemberId,
    /// `ILLEGAL_GENERATION`: the member speaks for another generation than the group's.
    #[error("generation {given} is not the group's {current}")]
    IllegalGeneration {
        /// What the request said.
        given: Generation,
        /// What the group is at.
        current: Generation,
    },
    /// `REBALANCE_IN_PROGRESS`: the member has to join again.
    #[error("the group is rebalancing")]
    RebalanceInProgress,
    /// `FENCED_INSTANCE_ID`: a later life of the same static member has taken its place.
    #[error("another member has taken over this group.instance.id")]
    FencedInstanceId,
    /// `INCONSISTENT_GROUP_PROTOCOL`: type or protocols share nothing with the group's.
    #[error("the member's protocols do not fit the group's")]
    InconsistentProtocol,
    /// `POLICY_VIOLATION`: one more group would be more than this coordinator keeps.
    #[error("the coordinator keeps {0} groups and takes no more")]
    TooManyGroups(usize),
    /// `CORRUPT_MESSAGE`: a later offset than the one known may stand where the log is damaged.
    #[error(
        "the log of the group's offsets is damaged; `streamlog partition skip-damage` lets \
             groups go on from what is left of it"
    )]
    OffsetsDamaged,
    /// The member may not join as it asked to.
    #[error(transparent)]
    Join(#[from] JoinRefusal),
    /// The group cannot be changed from outside.
    #[error(transparent)]
    Admin(#[from] AdminRefusal),
}

/// Why this coordinator cannot answer for the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// `COORDINATOR_LOAD_IN_PROGRESS`: its log is still being read.
    #[error("the coordinator is loading its groups")]
    Loading,
    /// `NOT_COORDINATOR`: another broker leads the offsets partition.
    #[error("this broker does not coordinate the group")]
    NotCoordinator,
    /// `COORDINATOR_NOT_AVAILABLE`: what the answer depends on could not be stored (in time).
    #[error("the coordinator could not store its decision")]
    NotAvailable,
}

/// Why a member may not join.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinRefusal {
    /// `MEMBER_ID_REQUIRED`: it joins again with the id it was given here.
    #[error("join again as {0}")]
    MemberIdRequired(MemberId),
    /// `INVALID_SESSION_TIMEOUT`: outside `group.{min,max}.session.timeout.ms`.
    #[error("a session timeout of {given_ms} ms is outside {min_ms} to {max_ms} ms")]
    InvalidSessionTimeout {
        /// What the member asked for.
        given_ms: u128,
        /// The least allowed.
        min_ms: u128,
        /// The most allowed.
        max_ms: u128,
    },
    /// `GROUP_MAX_SIZE_REACHED`: the group has `group.max.size` members.
    #[error("the group is full with {0} members")]
    GroupFull(usize),
    /// `MESSAGE_TOO_LARGE`: with it, the members would hold more than `group.max.bytes`.
    #[error("the group's members would hold {bytes} bytes, more than {limit}")]
    MetadataTooLarge {
        /// What they would hold.
        bytes: usize,
        /// The most allowed.
        limit: usize,
    },
    /// `INVALID_REQUEST`: `group.instance.id` is empty or longer than 255 bytes.
    #[error("a group.instance.id has 1 to 255 bytes, not {0}")]
    InvalidInstanceId(usize),
}

/// Why a group is not changed from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminRefusal {
    /// `GROUP_ID_NOT_FOUND`: nothing is known of this group.
    #[error("there is no such group")]
    GroupIdNotFound,
    /// `NON_EMPTY_GROUP`: it has members.
    #[error("the group has members")]
    NonEmptyGroup,
}

/// Why one offset was not committed or not deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OffsetRefusal {
    /// `OFFSET_METADATA_TOO_LARGE`: beyond `offset.metadata.max.bytes`.
    #[error("metadata of {bytes} bytes is larger than {limit}")]
    MetadataTooLarge {
        /// What was given.
        bytes: usize,
        /// The most allowed.
        limit: usize,
    },
    /// `GROUP_SUBSCRIBED_TO_TOPIC`: a member consumes the topic.
    #[error("the group is subscribed to the topic")]
    SubscribedToTopic,
}
