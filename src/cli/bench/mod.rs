//! `streamlog bench`: rates and latencies of a cluster.
//!
//! The results apply to a program that uses this client on the machine where the command runs.

mod consume;
mod figures;
mod latency;
mod options;
mod produce;

pub(crate) use options::Options;
