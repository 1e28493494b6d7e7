//! `streamlog config`: settings of topics and brokers, and of a file that is to become some.

mod check;
mod options;
mod resource;
mod show;

pub(crate) use options::Options;
