//! What clients do to the cluster, and what they hear.

mod clients;
mod member;
mod requests;

pub(crate) use clients::{records_in, start};
pub(crate) use member::COMMITTED;
pub(crate) use requests::{create_offsets_topic, judge_offsets};
