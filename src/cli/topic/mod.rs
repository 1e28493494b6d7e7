//! `streamlog topic`: listing, making, describing, changing and deleting topics.

mod alter;
mod create;
mod delete;
mod describe;
mod list;
mod options;

pub(crate) use options::Options;
