//! Administration: topics, settings, groups, and the cluster itself.

mod admin;
mod described;
mod group;

pub(super) use admin::Admin;
pub(super) use group::Group;
