//! Publishing: producers, the tickets of what is on its way, and where it came to lie.

mod columns;
mod given;
mod making;
mod producer;
mod record_metadata;
mod ticket;

pub(super) use given::{Given, Keywords};
pub(super) use producer::Producer;
pub(super) use record_metadata::RecordMetadata;
pub(super) use ticket::Ticket;
