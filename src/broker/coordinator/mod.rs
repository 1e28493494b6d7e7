//! The group coordinators of this broker, one for each partition of the internal topic that it
//! leads.
//!
//! `group::Coordinator` has the rules and knows no disk, socket or clock. This module connects it
//! to them. A task per partition takes requests from a bounded queue and appends the coordinator's
//! records to the partition's log. It sends a response once the records that the response confirms
//! are replicated. A coordinator begins by reading the log and ends when the partition stops.

mod asking;
mod coordinators;
mod journal;
mod log_reader;
mod offsets_topic;
mod question;
mod task;

pub(crate) use asking::Groups;
pub(crate) use coordinators::{Coordinators, forget_deleted_topics};
pub use offsets_topic::OffsetsTopicConfig;
pub(crate) use offsets_topic::is_topic_deleted;
pub(crate) use question::{DeleteGroup, DescribeGroup, claim, member_id};
