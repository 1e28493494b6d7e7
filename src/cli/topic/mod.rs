//! `streamlog topic`: listing, creating, describing, changing, trimming and deleting topics.

mod alter;
mod create;
mod delete;
mod describe;
mod list;
mod names;
mod offsets;
mod options;
mod places;
mod trim;

pub(crate) use names::Topics;
pub(crate) use options::Options;
