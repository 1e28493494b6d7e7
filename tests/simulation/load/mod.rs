//! The load of clients, and the answers that they receive.

mod clients;
mod member;
mod requests;

pub(crate) use clients::{records_in, start};
pub(crate) use member::COMMITTED;
pub(crate) use requests::{create_offsets_topic, judge_offsets};
