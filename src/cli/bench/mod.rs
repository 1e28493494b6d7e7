//! `streamlog bench`: how fast a cluster takes, keeps and gives records.
//!
//! What is measured is what a program of this client would see: from the call to the answer, on
//! the machine where the command runs.

mod consume;
mod figures;
mod latency;
mod options;
mod produce;
mod values;

pub(crate) use options::Options;
