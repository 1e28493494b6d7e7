//! The errors of a group. Each case that does not wrap another error is one of Kafka's error codes.

use crate::group::{Generation, MemberId};

/// The reason why the coordinator refused a whole request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// This coordinator cannot serve the group at the moment.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// `INVALID_GROUP_ID`: empty, or longer than 255 bytes.
    #[error("a group id has 1 to 255 bytes, not {0}")]
    InvalidGroupId(usize),
    /// `UNKNOWN_MEMBER_ID`: the group has no such member; the client must rejoin as a new member.
    #[error("the group has no such member")]
    UnknownMemberId,
    /// `ILLEGAL_GENERATION`: the request's generation is not the group's.
    #[error("generation {given} is not the group's {current}")]
    IllegalGeneration {
        /// The generation of the request.
        given: Generation,
        /// The generation of the group.
        current: Generation,
    },
    /// `REBALANCE_IN_PROGRESS`: the member must rejoin.
    #[error("the group is rebalancing")]
    RebalanceInProgress,
    /// `FENCED_INSTANCE_ID`: a later incarnation of the static member has replaced this one.
    #[error("another member has taken over this group.instance.id")]
    FencedInstanceId,
    /// `INCONSISTENT_GROUP_PROTOCOL`: the protocol type differs, or no protocol is common to all
    /// members.
    #[error("the member's protocols do not fit the group's")]
    InconsistentProtocol,
    /// `POLICY_VIOLATION`: the coordinator has reached its maximum number of groups.
    #[error("the coordinator keeps {0} groups and takes no more")]
    TooManyGroups(usize),
    /// `CORRUPT_MESSAGE`: a later commit may be in a damaged part of the log.
    #[error(
        "the log of the group's offsets is damaged; `streamlog partition skip-damage` lets \
             groups go on from what is left of it"
    )]
    OffsetsDamaged,
    /// The member may not join with this request.
    #[error(transparent)]
    Join(#[from] JoinRefusal),
    /// The administrative operation is refused.
    #[error(transparent)]
    Admin(#[from] AdminRefusal),
}

/// The reason why this coordinator cannot serve the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// `COORDINATOR_LOAD_IN_PROGRESS`: the log is still being loaded.
    #[error("the coordinator is loading its groups")]
    Loading,
    /// `NOT_COORDINATOR`: another broker leads the offsets partition.
    #[error("this broker does not coordinate the group")]
    NotCoordinator,
    /// `COORDINATOR_NOT_AVAILABLE`: the records of the decision could not be stored, or not in
    /// time.
    #[error("the coordinator could not store its decision")]
    NotAvailable,
}

/// The reason why a member may not join.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinRefusal {
    /// `MEMBER_ID_REQUIRED`: the client must join again with this member id (KIP-394).
    #[error("join again as {0}")]
    MemberIdRequired(MemberId),
    /// `INVALID_SESSION_TIMEOUT`: outside `group.{min,max}.session.timeout.ms`.
    #[error("a session timeout of {given_ms} ms is outside {min_ms} to {max_ms} ms")]
    InvalidSessionTimeout {
        /// The requested session timeout.
        given_ms: u128,
        /// The minimum.
        min_ms: u128,
        /// The maximum.
        max_ms: u128,
    },
    /// `GROUP_MAX_SIZE_REACHED`: the group has `group.max.size` members.
    #[error("the group is full with {0} members")]
    GroupFull(usize),
    /// `MESSAGE_TOO_LARGE`: with this request, the members would hold more than `group.max.bytes`.
    #[error("the group's members would hold {bytes} bytes, more than {limit}")]
    MetadataTooLarge {
        /// The bytes that they would hold.
        bytes: usize,
        /// The maximum.
        limit: usize,
    },
    /// `INVALID_REQUEST`: `group.instance.id` is empty or longer than 255 bytes.
    #[error("a group.instance.id has 1 to 255 bytes, not {0}")]
    InvalidInstanceId(usize),
}

/// The reason why an administrative operation on a group is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminRefusal {
    /// `GROUP_ID_NOT_FOUND`: the group does not exist.
    #[error("there is no such group")]
    GroupIdNotFound,
    /// `NON_EMPTY_GROUP`: the group has members.
    #[error("the group has members")]
    NonEmptyGroup,
}

/// The reason why an offset was not committed or not deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OffsetRefusal {
    /// `OFFSET_METADATA_TOO_LARGE`: larger than `offset.metadata.max.bytes`.
    #[error("metadata of {bytes} bytes is larger than {limit}")]
    MetadataTooLarge {
        /// The size of the metadata.
        bytes: usize,
        /// The maximum.
        limit: usize,
    },
    /// `GROUP_SUBSCRIBED_TO_TOPIC`: a member consumes the topic.
    #[error("the group is subscribed to the topic")]
    SubscribedToTopic,
}
