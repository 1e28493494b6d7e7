//! Administration: topics, settings, groups, and the cluster itself.

mod admin;
mod asking;
mod described;
mod group;

pub(super) use admin::Admin;
pub(super) use group::Group;
