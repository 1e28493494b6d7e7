//! `streamlog config`: settings of topics and brokers, and checks of configuration files.

mod check;
mod options;
mod resource;
mod show;

pub(crate) use options::Options;
